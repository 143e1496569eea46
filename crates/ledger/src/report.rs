//! Queries of a ledger and their results.

use std::sync::Arc;

use serde::Serialize;

use crate::civil::Day;
use crate::money::Cost;
use crate::request_id::RequestId;
use crate::rows::{AttemptRow, RequestRow};

/// A grouping of a usage report.
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
    /// The tag. A request with two tags is in two rows, so the rows exceed the total.
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

/// A query for usage.
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
    /// The part read from a cache.
    pub cache_read: u64,
    /// The part written to a cache for five minutes.
    pub cache_write_5m: u64,
    /// The part written to a cache for one hour.
    pub cache_write_1h: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part spent on reasoning.
    pub reasoning: u64,
    /// Images sent.
    pub images: u64,
    /// The cost of all attempts with a known price, in nanodollars.
    #[serde(rename = "cost_nanodollars")]
    pub cost: Cost,
    /// Of this, the cost of attempts that no provider counted whole: those that are
    /// `estimated` or `lost`.
    #[serde(rename = "estimated_cost_nanodollars")]
    pub estimated_cost: Cost,
    /// Attempts whose price is unknown. They are not part of `cost`.
    pub unpriced: u64,
    /// Attempts whose tokens the gateway counted, in part or whole.
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
        self.estimated_cost += other.estimated_cost;
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.lost = self.lost.saturating_add(other.lost);
    }
}

/// One row of a usage report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageRow {
    /// The values of the groups; empty if a request had none.
    pub group: Vec<String>,
    /// The sums.
    #[serde(flatten)]
    pub sums: UsageSums,
}

/// A query for single requests, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestQuery {
    /// From this Unix time on, in milliseconds.
    pub since_millis: i64,
    /// Before this Unix time; `None` for no end.
    pub until_millis: Option<i64>,
    /// Only requests older than this, for paging.
    pub before: Option<RequestId>,
    /// Only of this key.
    pub key: Option<String>,
    /// Only of this team.
    pub team: Option<String>,
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

/// The result of `verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Days checked.
    pub days: usize,
    /// Attempts counted.
    pub attempts: u64,
    /// The problems, as sentences.
    pub problems: Vec<String>,
}

/// The result of `reprice`.
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

/// A target and its provider, for repricing.
#[derive(Clone, Debug)]
pub struct RepriceSubject {
    /// The target, `provider/model`.
    pub target: Arc<str>,
    /// When the request started, in Unix milliseconds.
    pub at_millis: i64,
}

/// A usage report as CSV, with a heading.
pub fn usage_csv(by: &[GroupBy], rows: &[UsageRow]) -> String {
    let names = by.iter().map(|group| group.as_str());
    let columns = "requests,attempts,input,cache_read,cache_write_5m,cache_write_1h,output,\
                   reasoning,images,cost_usd,unpriced,estimated,lost,estimated_cost_usd";
    let heading: Vec<&str> = names.chain([columns]).collect();
    let mut text = heading.join(",");
    text.push('\n');
    for row in rows {
        for value in &row.group {
            text.push_str(&csv_field(value));
            text.push(',');
        }
        let sums = &row.sums;
        text.push_str(&format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
            sums.requests,
            sums.attempts,
            sums.input,
            sums.cache_read,
            sums.cache_write_5m,
            sums.cache_write_1h,
            sums.output,
            sums.reasoning,
            sums.images,
            sums.cost,
            sums.unpriced,
            sums.estimated,
            sums.lost,
            sums.estimated_cost
        ));
    }
    text
}

/// A field of CSV. Spreadsheets execute text that starts like a formula, and clients choose
/// names.
fn csv_field(value: &str) -> String {
    let value = match value.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{value}"),
        false => value.to_owned(),
    };
    match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value,
    }
}

/// The start of a range in Unix milliseconds: a duration before `now` such as `7d`, `12h` or
/// `30m`, or the start of a date.
pub fn parse_since(text: &str, now_millis: i64) -> Option<i64> {
    if let Ok(day) = text.parse::<Day>() {
        return Some(day.start_millis());
    }
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|number| *number >= 0)?;
    Some(now_millis.saturating_sub(number.checked_mul(unit)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_csv_is_quoted_and_never_a_formula() {
        assert_eq!(csv_field("a,b"), "\"a,b\"");
        assert_eq!(csv_field("=1+1"), "'=1+1");
        assert_eq!(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(csv_field("plain"), "plain");
    }

    #[test]
    fn ranges_start_at_a_duration_ago_or_at_a_date() {
        assert_eq!(parse_since("2h", 7_200_001), Some(1));
        assert_eq!(parse_since("1970-01-02", 5), Some(86_400_000));
        for text in ["", "h", "-1d", "7", "7y", "9999999999999999d", "ä"] {
            assert_eq!(parse_since(text, 0), None, "{text}");
        }
    }
}
