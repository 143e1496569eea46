//! The trace of one request and its JSON form.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use majordomo::llm::{Change, Dialect};
use majordomo::{Class, Usage};
use majordomo_rules::Notes;
use majordomo_vision::DescribeCall;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::outcome::AttemptSummary;
use crate::routes::RouteTrace;

/// Longest text; clients choose some of them.
const LONGEST_TEXT: usize = 512;
/// Longest list.
const LONGEST_LIST: usize = 100;
/// The last second of the year 9999 in Unix time.
const LATEST: Duration = Duration::from_secs(253_402_300_799);

/// The trace of a finished request.
pub(crate) struct RequestTrace {
    pub(crate) id: Arc<str>,
    pub(crate) ended: SystemTime,
    pub(crate) took: Duration,
    pub(crate) first_token: Option<Duration>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) dialect: Dialect,
    pub(crate) stream: bool,
    pub(crate) model: String,
    pub(crate) route: Option<RouteTrace>,
    /// Candidate targets in order, comma-separated.
    pub(crate) candidates: String,
    pub(crate) attempts: Vec<AttemptSummary>,
    pub(crate) described: Vec<DescribeTrace>,
    pub(crate) changes: Vec<Change>,
    pub(crate) usage: Usage,
    pub(crate) status: u16,
    pub(crate) outcome: &'static str,
    pub(crate) reason: Option<String>,
}

/// One describer call.
pub(crate) struct DescribeTrace {
    outcome: &'static str,
    attempts: Vec<AttemptSummary>,
    usage: Usage,
    took: Duration,
}

impl From<&DescribeCall> for DescribeTrace {
    fn from(call: &DescribeCall) -> Self {
        Self {
            outcome: call.outcome(),
            attempts: call.attempts.iter().map(AttemptSummary::from).collect(),
            usage: call.usage,
            took: call.took,
        }
    }
}

impl RequestTrace {
    /// Truncates unbounded fields.
    pub(super) fn bound(&mut self) {
        cut(&mut self.model);
        cut(&mut self.candidates);
        self.reason.iter_mut().for_each(cut);
        shorten(&mut self.attempts);
        shorten(&mut self.described);
        shorten(&mut self.changes);
        for change in &mut self.changes {
            // Details may quote a provider.
            change.detail = String::new();
            cut(&mut change.subject);
        }
        if let Some(route) = &mut self.route {
            for processor in &mut route.processors {
                processor.error.iter_mut().for_each(cut);
            }
        }
    }

    /// Approximate size in bytes.
    pub(super) fn weight(&self) -> usize {
        let attempts = |list: &[AttemptSummary]| -> usize {
            let each = list.iter().map(|attempt| attempt.target.len());
            each.sum::<usize>() + std::mem::size_of_val(list)
        };
        let described = self.described.iter();
        let described = described.map(|call| size_of::<DescribeTrace>() + attempts(&call.attempts));
        let changes = self.changes.iter().map(|change| {
            size_of::<Change>() + change.subject.len() + change.verb.len() + change.detail.len()
        });
        let route = self.route.as_ref().map_or(0, |route| {
            let processors = route.processors.iter();
            let processors = processors.map(|ran| 200 + ran.error.as_ref().map_or(0, String::len));
            let rules = route.rules.as_ref().map_or(0, Notes::bytes);
            processors.sum::<usize>() + rules
        });
        let texts = self.model.len()
            + self.candidates.len()
            + self.reason.as_ref().map_or(0, String::len)
            + self.id.len();
        size_of::<Self>()
            + texts
            + attempts(&self.attempts)
            + described.sum::<usize>()
            + changes.sum::<usize>()
            + route
    }
}

fn cut(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        let between = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=LONGEST_TEXT).rev().find(between);
        text.truncate(end.unwrap_or(0));
        text.push('…');
        text.shrink_to_fit();
    }
}

fn shorten<T>(list: &mut Vec<T>) {
    if list.len() > LONGEST_LIST {
        list.truncate(LONGEST_LIST);
        list.shrink_to_fit();
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

impl Serialize for RequestTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let began = self.ended.checked_sub(self.took).unwrap_or(self.ended);
        // The wall clock may be unset at boot, or beyond any formattable date.
        let began = began.clamp(UNIX_EPOCH, UNIX_EPOCH + LATEST);
        let candidates = self.candidates.split(',').filter(|name| !name.is_empty());
        let candidates: Vec<&str> = candidates.collect();
        let described: Vec<DescribeTraceJson<'_>> =
            self.described.iter().map(DescribeTraceJson).collect();
        let changes: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        let mut fields = serializer.serialize_struct("RequestTrace", 22)?;
        fields.serialize_field("id", &*self.id)?;
        let at = humantime::format_rfc3339_millis(began).to_string();
        fields.serialize_field("at", &at)?;
        fields.serialize_field("key", &self.key)?;
        fields.serialize_field("dialect", self.dialect.as_str())?;
        fields.serialize_field("stream", &self.stream)?;
        fields.serialize_field("model", &self.model)?;
        let route = self.route.as_ref();
        fields.serialize_field("route", &route.map(|route| &*route.route))?;
        let rules = route.and_then(|route| route.rules.as_ref());
        let rules = rules.map(|notes| notes.trace().rules);
        fields.serialize_field("rules", &rules.unwrap_or_default())?;
        let processors = route.map_or(&[][..], |route| &route.processors);
        fields.serialize_field("processors", processors)?;
        fields.serialize_field("candidates", &candidates)?;
        fields.serialize_field("pick", &candidates.first())?;
        fields.serialize_field("because", &route.map(|route| route.because))?;
        fields.serialize_field("attempts", &AttemptListJson(&self.attempts))?;
        fields.serialize_field("descriptions", &described)?;
        fields.serialize_field("changes", &changes)?;
        fields.serialize_field("input_tokens", &self.usage.input)?;
        fields.serialize_field("output_tokens", &self.usage.output)?;
        let first = self.first_token.map(milliseconds);
        fields.serialize_field("first_token_ms", &first)?;
        fields.serialize_field("took_ms", &milliseconds(self.took))?;
        fields.serialize_field("status", &self.status)?;
        fields.serialize_field("outcome", self.outcome)?;
        fields.serialize_field("reason", &self.reason)?;
        fields.end()
    }
}

struct AttemptListJson<'a>(&'a [AttemptSummary]);

#[derive(Serialize)]
struct AttemptJson<'a> {
    target: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    at_ms: f64,
    took_ms: f64,
}

impl Serialize for AttemptListJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|attempt| AttemptJson {
            target: &attempt.target,
            outcome: attempt.outcome,
            class: attempt.class,
            status: attempt.status,
            at_ms: milliseconds(attempt.at),
            took_ms: milliseconds(attempt.took),
        }))
    }
}

struct DescribeTraceJson<'a>(&'a DescribeTrace);

impl Serialize for DescribeTraceJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(call) = self;
        let mut fields = serializer.serialize_struct("DescribeTrace", 5)?;
        fields.serialize_field("outcome", call.outcome)?;
        fields.serialize_field("attempts", &AttemptListJson(&call.attempts))?;
        fields.serialize_field("input_tokens", &call.usage.input)?;
        fields.serialize_field("output_tokens", &call.usage.output)?;
        fields.serialize_field("took_ms", &milliseconds(call.took))?;
        fields.end()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A trace with default values.
    pub(in crate::traces) fn blank() -> RequestTrace {
        RequestTrace {
            id: "id".into(),
            ended: SystemTime::UNIX_EPOCH + Duration::from_secs(10),
            took: Duration::from_millis(1_500),
            first_token: None,
            key: None,
            dialect: Dialect::new("openai-chat"),
            stream: false,
            model: "m".to_owned(),
            route: None,
            candidates: "a/x,b/y".to_owned(),
            attempts: Vec::new(),
            described: Vec::new(),
            changes: Vec::new(),
            usage: Usage::default(),
            status: 200,
            outcome: "complete",
            reason: None,
        }
    }

    #[test]
    fn a_trace_starts_at_the_requests_arrival() {
        let json = serde_json::to_value(blank()).unwrap();
        assert_eq!(json["at"], "1970-01-01T00:00:08.500Z");
        assert_eq!(json["took_ms"], 1_500.0);
        assert_eq!(json["candidates"], serde_json::json!(["a/x", "b/y"]));
        assert_eq!(json["pick"], "a/x");
    }

    #[test]
    fn a_trace_is_serialized_for_any_wall_clock_time() {
        for (ended, at) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00.000Z"),
            (
                UNIX_EPOCH - Duration::from_secs(3_600),
                "1970-01-01T00:00:00.000Z",
            ),
            (UNIX_EPOCH + LATEST * 2, "9999-12-31T23:59:59.000Z"),
        ] {
            let json = serde_json::to_value(RequestTrace { ended, ..blank() }).unwrap();
            assert_eq!(json["at"], at);
        }
    }

    #[test]
    fn client_and_provider_texts_are_truncated() {
        let mut record = RequestTrace {
            model: "ä".repeat(10_000),
            changes: vec![Change::new("x".repeat(10_000), "dropped").detail("a secret"); 1_000],
            ..blank()
        };
        record.bound();
        assert!(record.model.capacity() < 1_000, "truncated text is freed");
        let json = serde_json::to_string(&record).unwrap();
        assert!(json.len() < 60_000, "{}", json.len());
        assert!(!json.contains("secret"));
        assert!(record.weight() < 80_000, "{}", record.weight());
    }
}
