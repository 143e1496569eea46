//! The remaining rate limits of a key, as its provider last reported them.

use std::time::{Duration, Instant};

use majordomo_llm::{Quota, QuotaWindow};

/// How long a report without a reset time is valid: the window of most limits.
const USUAL_WINDOW: Duration = Duration::from_secs(60);
/// How long a report is valid at most.
const LONGEST_WINDOW: Duration = Duration::from_secs(3_600);

/// A provider's last report.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuotaReading {
    quota: Quota,
    at: Instant,
}

/// The current remainder of a key's rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotaStatus {
    /// Requests.
    pub requests: Option<QuotaWindow>,
    /// Tokens.
    pub tokens: Option<QuotaWindow>,
}

impl QuotaReading {
    pub(super) fn new(quota: Quota, at: Instant) -> Self {
        Self { quota, at }
    }

    /// The part of the report that is still valid; `None` once all windows have been reset.
    pub(super) fn status(&self, now: Instant) -> Option<QuotaStatus> {
        let age = now.saturating_duration_since(self.at);
        let holds = |window: Option<QuotaWindow>| {
            let mut window = window?;
            let lasts = window.resets_in.unwrap_or(USUAL_WINDOW).min(LONGEST_WINDOW);
            let left = lasts.checked_sub(age).filter(|left| !left.is_zero())?;
            window.resets_in = Some(left);
            Some(window)
        };
        let (requests, tokens) = (holds(self.quota.requests), holds(self.quota.tokens));
        (requests.is_some() || tokens.is_some()).then_some(QuotaStatus { requests, tokens })
    }
}

impl QuotaStatus {
    /// How long one of the limits stays used up; `None` if none is.
    pub fn used_up_for(&self) -> Option<Duration> {
        let used_up = self.windows().filter(|window| window.left == 0);
        used_up.filter_map(|window| window.resets_in).max()
    }

    /// The remaining share of the scarcer limit, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.windows()
            .map(|window| window.share())
            .fold(1.0, f64::min)
    }

    fn windows(&self) -> impl Iterator<Item = QuotaWindow> {
        self.requests.into_iter().chain(self.tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, ManualClock};

    fn window(left: u64, seconds: Option<u64>) -> Option<QuotaWindow> {
        Some(QuotaWindow {
            limit: 100,
            left,
            resets_in: seconds.map(Duration::from_secs),
        })
    }

    #[test]
    fn a_report_holds_until_its_windows_are_renewed() {
        let clock = ManualClock::new();
        let quota = Quota {
            requests: window(0, Some(10)),
            tokens: window(30, None),
        };
        let reading = QuotaReading::new(quota, clock.now());
        let fresh = reading.status(clock.now()).unwrap();
        assert_eq!(fresh.used_up_for(), Some(Duration::from_secs(10)));
        clock.advance(Duration::from_secs(10));
        let later = reading.status(clock.now()).unwrap();
        assert_eq!(later.used_up_for(), None, "the requests are renewed");
        assert!((later.share() - 0.3).abs() < 1e-9);
        clock.advance(Duration::from_secs(50));
        assert_eq!(reading.status(clock.now()), None);
    }
}
