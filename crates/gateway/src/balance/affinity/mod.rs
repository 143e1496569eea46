//! Which service a session is with.
//!
//! A pin holds from a session's first request with a service for a fixed time,
//! however often the session comes back. Pins are bounded in number and spread
//! over shards; the one that was not used for longest goes first. Each pool has
//! its own, so that a session may be with one service of the route and with
//! another one of a smart rule.

mod session;

use std::time::{Duration, Instant};

use quick_cache::sync::Cache;

pub use session::{SessionHints, SessionKey};

/// The sessions that a pool remembers at most: about four megabytes.
const MOST_SESSIONS: usize = 1 << 16;

/// After a better tier's recovery, sessions stay this long where they are: their
/// prompts are cached there, and the recovery may not last.
pub(super) const HOLD: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Pins(Cache<SessionKey, Pin>);

#[derive(Clone, Copy, Debug)]
struct Pin {
    /// The service's identity, which survives a reload.
    service: u64,
    since: Instant,
}

impl Default for Pins {
    fn default() -> Self {
        Self(Cache::new(MOST_SESSIONS))
    }
}

impl Pins {
    /// The service that the session is with, unless that is too long ago.
    pub(super) fn find(&self, session: SessionKey, lasts: Duration, now: Instant) -> Option<u64> {
        let pin = self.0.get(&session)?;
        let age = now.saturating_duration_since(pin.since);
        (age < lasts).then_some(pin.service)
    }

    pub(super) fn set(&self, session: SessionKey, service: u64, now: Instant) {
        let since = now;
        self.0.insert(session, Pin { service, since });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use majordomo::{Clock, ManualClock};

    use super::*;

    #[test]
    fn the_number_of_sessions_is_bounded() {
        let pins = Pins::default();
        let now = ManualClock::new().now();
        for number in 0..MOST_SESSIONS * 3 {
            let hints = SessionHints {
                user_id: Some(&number.to_string()),
                ..SessionHints::default()
            };
            let session = SessionKey::of(&hints).expect("an id is given");
            pins.set(session, 1, now);
        }
        assert!(pins.len() <= MOST_SESSIONS, "{}", pins.len());
    }
}
