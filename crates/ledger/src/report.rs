//! Questions to a ledger and their answers.

use std::sync::Arc;

use serde::Serialize;

use crate::money::Cost;
use crate::request_id::RequestId;
use crate::rows::{AttemptRow, RequestRow};

/// What a usage report is grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GroupBy {
    /// The client's key.
    Key,
    /// The key's team.
    Team,
    /// The requested model.
    Model,
    /// The target that was called.
    Target,
    /// The hour.
    Hour,
    /// The day.
    Day,
    /// The tag. A request with two tags is in two rows, so the total is another one.
    Tag,
}

impl GroupBy {
    /// All groups, with their names.
    pub const ALL: [(&'static str, Self); 7] = [
        ("key", Self::Key),
        ("team", Self::Team),
        ("model", Self::Model),
        ("target", Self::Target),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("tag", Self::Tag),
    ];

    /// The group of this name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, group)| *group)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, group)| *group == self);
        found.map_or("", |(name, _)| name)
    }
}

/// A question about usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageQuery {
    /// From this Unix time on, in milliseconds, rounded down to a quarter hour.
    pub since_millis: i64,
    /// Before this Unix time.
    pub until_millis: i64,
    /// The groups, outermost first; none for a total.
    pub by: Vec<GroupBy>,
    /// Minutes that local time is ahead of UTC, for hours and days.
    pub utc_offset_minutes: i32,
    /// Leaves out later corrections, so an earlier report is reproduced.
    pub as_recorded: bool,
}

/// Sums over attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UsageSums {
    /// Requests that reached a provider.
    pub requests: u64,
    /// Attempts sent.
    pub attempts: u64,
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Of these, read from a cache.
    pub cache_read: u64,
    /// Of these, written to a cache for five minutes.
    pub cache_write_5m: u64,
    /// Of these, written to a cache for one hour.
    pub cache_write_1h: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Of these, reasoning.
    pub reasoning: u64,
    /// Images sent.
    pub images: u64,
    /// The cost of all attempts with a known price, in nanodollars.
    #[serde(rename = "cost_nanodollars")]
    pub cost: Cost,
    /// Attempts whose price is unknown. They are not part of `cost`.
    pub unpriced: u64,
    /// Attempts that were counted by us, in part or whole.
    pub estimated: u64,
    /// Attempts that were open when the process died.
    pub lost: u64,
}

impl UsageSums {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write_5m = self.cache_write_5m.saturating_add(other.cache_write_5m);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.images = self.images.saturating_add(other.images);
        self.cost += other.cost;
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// One row of a usage report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageRow {
    /// The values of the groups; empty where a request had none.
    pub group: Vec<String>,
    /// The sums.
    #[serde(flatten)]
    pub sums: UsageSums,
}

/// A question about single requests, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestQuery {
    /// From this Unix time on, in milliseconds.
    pub since_millis: i64,
    /// Before this Unix time; `None` for no end.
    pub until_millis: Option<i64>,
    /// Only older ones than this, to page.
    pub before: Option<RequestId>,
    /// Only of this key.
    pub key: Option<String>,
    /// Only for this requested model.
    pub model: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// A stored request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredRequest {
    /// The request.
    #[serde(flatten)]
    pub request: RequestRow,
    /// Its attempts.
    pub attempts: Vec<AttemptRow>,
    /// The sum of later corrections, in nanodollars.
    pub correction: Cost,
}

/// What `verify` found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Days checked.
    pub days: usize,
    /// Attempts counted.
    pub attempts: u64,
    /// What is wrong, in sentences.
    pub problems: Vec<String>,
}

/// What `reprice` did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepriceReport {
    /// Attempts looked at.
    pub attempts: u64,
    /// Corrections written.
    pub corrected: u64,
    /// Attempts that still have no price.
    pub unpriced: u64,
    /// The sum of the corrections, in nanodollars.
    pub difference: Cost,
}

/// A target and what it was called by, for repricing.
#[derive(Clone, Debug)]
pub struct RepriceSubject {
    /// The target, `provider/model`.
    pub target: Arc<str>,
    /// When the request started, in Unix milliseconds.
    pub at_millis: i64,
}
