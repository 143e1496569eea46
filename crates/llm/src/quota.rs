//! The rate limits of a key, as its provider reports them.

use std::time::Duration;

/// The remaining rate limits of a key for a model, as a response reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Requests.
    pub requests: Option<QuotaWindow>,
    /// Tokens; if there are several limits, the one with the smallest remainder.
    pub tokens: Option<QuotaWindow>,
}

/// One rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaWindow {
    /// The amount that a full window allows.
    pub limit: u64,
    /// The remaining amount.
    pub left: u64,
    /// When the window is reset, if the provider states it.
    pub resets_in: Option<Duration>,
}

impl QuotaWindow {
    /// The remaining share, from 0 to 1.
    pub fn share(&self) -> f64 {
        match self.limit {
            0 => 0.0,
            limit => (self.left as f64 / limit as f64).min(1.0),
        }
    }
}

impl Quota {
    /// The windows that were reported.
    pub fn windows(&self) -> impl Iterator<Item = QuotaWindow> {
        self.requests.into_iter().chain(self.tokens)
    }
}
