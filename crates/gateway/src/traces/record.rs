//! What is remembered of one request, and how the operator reads it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use majordomo::{Change, Class, Dialect, Usage};
use majordomo_rules::Notes;
use majordomo_vision::DescribeCall;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::outcome::Tried;
use crate::routes::RouteTrace;

/// Texts are cut here; clients choose some of them.
const LONGEST_TEXT: usize = 512;
/// Lists are cut here.
const LONGEST_LIST: usize = 100;
/// The last second of the year 9999, counted from 1970.
const LATEST: Duration = Duration::from_secs(253_402_300_799);

/// A request that is over.
pub(crate) struct Record {
    pub(crate) id: Arc<str>,
    pub(crate) ended: SystemTime,
    pub(crate) took: Duration,
    pub(crate) first_token: Option<Duration>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) dialect: Dialect,
    pub(crate) stream: bool,
    pub(crate) model: String,
    pub(crate) route: Option<RouteTrace>,
    /// The targets that could serve it, in order, separated by commas.
    pub(crate) candidates: String,
    pub(crate) attempts: Vec<Tried>,
    pub(crate) described: Vec<Described>,
    pub(crate) changes: Vec<Change>,
    pub(crate) usage: Usage,
    pub(crate) status: u16,
    pub(crate) outcome: &'static str,
    pub(crate) reason: Option<String>,
}

/// One call of a describer.
pub(crate) struct Described {
    outcome: &'static str,
    attempts: Vec<Tried>,
    usage: Usage,
    took: Duration,
}

impl From<&DescribeCall> for Described {
    fn from(call: &DescribeCall) -> Self {
        Self {
            outcome: call.outcome(),
            attempts: call.attempts.iter().map(Tried::from).collect(),
            usage: call.usage,
            took: call.took,
        }
    }
}

impl Record {
    /// Cuts what has no bound of its own.
    pub(super) fn bound(&mut self) {
        cut(&mut self.model);
        cut(&mut self.candidates);
        self.reason.iter_mut().for_each(cut);
        shorten(&mut self.attempts);
        shorten(&mut self.described);
        shorten(&mut self.changes);
        for change in &mut self.changes {
            // The particulars may repeat what a provider said.
            change.detail = String::new();
            cut(&mut change.subject);
        }
        if let Some(route) = &mut self.route {
            for processor in &mut route.processors {
                processor.error.iter_mut().for_each(cut);
            }
        }
    }

    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> usize {
        let attempts = |tried: &[Tried]| -> usize {
            let each = tried.iter().map(|one| one.target.len());
            each.sum::<usize>() + std::mem::size_of_val(tried)
        };
        let described = self.described.iter();
        let described = described.map(|call| size_of::<Described>() + attempts(&call.attempts));
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

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let began = self.ended.checked_sub(self.took).unwrap_or(self.ended);
        // A machine that has just started may believe that it is 1970, or later
        // than any date can be written.
        let began = began.clamp(UNIX_EPOCH, UNIX_EPOCH + LATEST);
        let candidates = self.candidates.split(',').filter(|name| !name.is_empty());
        let candidates: Vec<&str> = candidates.collect();
        let described: Vec<Call<'_>> = self.described.iter().map(Call).collect();
        let changes: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        let mut fields = serializer.serialize_struct("Record", 22)?;
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
        fields.serialize_field("attempts", &Attempts(&self.attempts))?;
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

struct Attempts<'a>(&'a [Tried]);

#[derive(Serialize)]
struct Attempt<'a> {
    target: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    at_ms: f64,
    took_ms: f64,
}

impl Serialize for Attempts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tried| Attempt {
            target: &tried.target,
            outcome: tried.outcome,
            class: tried.class,
            status: tried.status,
            at_ms: milliseconds(tried.at),
            took_ms: milliseconds(tried.took),
        }))
    }
}

struct Call<'a>(&'a Described);

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(call) = self;
        let mut fields = serializer.serialize_struct("Described", 5)?;
        fields.serialize_field("outcome", call.outcome)?;
        fields.serialize_field("attempts", &Attempts(&call.attempts))?;
        fields.serialize_field("input_tokens", &call.usage.input)?;
        fields.serialize_field("output_tokens", &call.usage.output)?;
        fields.serialize_field("took_ms", &milliseconds(call.took))?;
        fields.end()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record of which nothing is known.
    pub(in crate::traces) fn blank() -> Record {
        Record {
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
    fn a_record_is_told_from_its_beginning() {
        let told = serde_json::to_value(blank()).unwrap();
        assert_eq!(told["at"], "1970-01-01T00:00:08.500Z");
        assert_eq!(told["took_ms"], 1_500.0);
        assert_eq!(told["candidates"], serde_json::json!(["a/x", "b/y"]));
        assert_eq!(told["pick"], "a/x");
    }

    #[test]
    fn p10_a_record_is_told_whatever_the_wall_clock_said() {
        for (ended, at) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00.000Z"),
            (
                UNIX_EPOCH - Duration::from_secs(3_600),
                "1970-01-01T00:00:00.000Z",
            ),
            (UNIX_EPOCH + LATEST * 2, "9999-12-31T23:59:59.000Z"),
        ] {
            let told = serde_json::to_value(Record { ended, ..blank() }).unwrap();
            assert_eq!(told["at"], at);
        }
    }

    #[test]
    fn what_clients_and_providers_say_is_cut() {
        let mut record = Record {
            model: "ä".repeat(10_000),
            changes: vec![Change::new("x".repeat(10_000), "dropped").detail("a secret"); 1_000],
            ..blank()
        };
        record.bound();
        assert!(record.model.capacity() < 1_000, "what is cut is freed");
        let told = serde_json::to_string(&record).unwrap();
        assert!(told.len() < 60_000, "{}", told.len());
        assert!(!told.contains("secret"));
        assert!(record.weight() < 80_000, "{}", record.weight());
    }
}
