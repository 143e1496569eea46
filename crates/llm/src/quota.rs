//! What a provider reports of the rate limits of a key.

use std::time::Duration;

/// What is left of a key's rate limits for a model, as a response reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Requests.
    pub requests: Option<QuotaWindow>,
    /// Tokens; of several such limits, the one with the least left.
    pub tokens: Option<QuotaWindow>,
}

/// One rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaWindow {
    /// How much a full window allows.
    pub limit: u64,
    /// How much is left of it.
    pub left: u64,
    /// When it is full again, if the provider says so.
    pub resets_in: Option<Duration>,
}

impl QuotaWindow {
    /// The share that is left, from 0 to 1.
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
