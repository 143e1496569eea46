//! How an attempt ended.

use std::time::Duration;

use majordomo_llm::{Class, Usage};

/// The outcome of an attempt, and its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptReport {
    /// How it ended.
    pub end: AttemptEnd,
    /// The provider's last report. If a stream did not finish, this is the opening report,
    /// which lacks most of the output.
    pub reported: Option<Usage>,
    /// Bytes of content that arrived: text, reasoning, arguments. An estimate for streams
    /// that are forwarded as bytes.
    pub received_bytes: u64,
    /// Images that arrived.
    pub images: u64,
    /// Output tokens that arrived after the provider's last report, by our own count.
    pub unreported_tokens: u64,
    /// Whether it failed without a response, such as by a timeout, so that a model may have
    /// worked on it.
    pub may_have_run: bool,
    /// The time until the end of the response.
    pub took: Duration,
    /// The time until the first content of a stream.
    pub first_token: Option<Duration>,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptEnd {
    /// The response is complete.
    Served,
    /// The attempt failed, or its response was rejected.
    Failed {
        /// The class of the failure.
        class: Class,
        /// The HTTP status, if any.
        status: Option<u16>,
    },
    /// The caller dropped the request or its stream.
    Cancelled,
    /// It was admitted, but the caller dropped the request before anything was sent.
    NotSent,
}

impl AttemptReport {
    /// The report of an attempt that was admitted but never sent.
    pub(super) fn not_sent() -> Self {
        Self {
            end: AttemptEnd::NotSent,
            reported: None,
            received_bytes: 0,
            images: 0,
            unreported_tokens: 0,
            may_have_run: false,
            took: Duration::ZERO,
            first_token: None,
        }
    }

    /// The known usage: the provider's last report, plus our count of the output after it if
    /// the response is incomplete or the provider reported nothing.
    pub fn usage(&self) -> Usage {
        let mut usage = self.reported.unwrap_or_default();
        if self.reported.is_none() || self.end != AttemptEnd::Served {
            usage.output = usage.output.saturating_add(self.unreported_tokens);
        }
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: AttemptReport = AttemptReport {
        end: AttemptEnd::Cancelled,
        reported: None,
        received_bytes: 41,
        images: 0,
        unreported_tokens: 11,
        may_have_run: false,
        took: Duration::ZERO,
        first_token: None,
    };

    #[test]
    fn an_incomplete_response_is_charged_by_what_arrived() {
        let opening = Some(Usage::new(100, 1));
        let late = Some(Usage::new(100, 30));
        let served = AttemptEnd::Served;
        for (end, reported, expected) in [
            (AttemptEnd::Cancelled, None, Usage::new(0, 11)),
            (AttemptEnd::Cancelled, opening, Usage::new(100, 12)),
            (AttemptEnd::Cancelled, late, Usage::new(100, 41)),
            (served, None, Usage::new(0, 11)),
            (served, opening, Usage::new(100, 1)),
        ] {
            let report = AttemptReport {
                end,
                reported,
                ..CUT
            };
            assert_eq!(report.usage(), expected, "{report:?}");
        }
    }
}
