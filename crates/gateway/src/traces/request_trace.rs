//! The trace of one request and its JSON form.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use majordomo::Class;
use majordomo::llm::Change;
use majordomo_rules::Notes;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::outcome::AttemptSummary;
use crate::record::{Description, FinishedRequest, milliseconds};
use crate::trust::Visible;

/// The last second of the year 9999 in Unix time.
const LATEST: Duration = Duration::from_secs(253_402_300_799);

/// A finished request that is shown to the operator.
pub(crate) struct RequestTrace(pub(super) Arc<FinishedRequest>);

/// Approximate size of a record in bytes.
pub(super) fn weight(record: &FinishedRequest) -> usize {
    let attempts = |list: &[AttemptSummary]| -> usize {
        let refusal = |attempt: &AttemptSummary| attempt.refusal.as_ref().map_or(0, |it| it.len());
        let each = list.iter();
        let each = each.map(|attempt| attempt.target.len() + refusal(attempt));
        each.sum::<usize>() + size_of_val(list)
    };
    let calls = record.calls.iter();
    let calls = calls.map(|call| size_of_val(call) + call.target.len());
    let descriptions = record.descriptions.iter();
    let descriptions = descriptions.map(|description| {
        size_of_val(description) + description.target.len() + attempts(&description.attempts)
    });
    let changes = record.changes.iter();
    let changes =
        changes.map(|change| size_of_val(change) + change.subject.len() + change.verb.len());
    let route = record.routing.as_ref().map_or(0, |route| {
        let processors = route.processors.iter();
        let processors = processors.map(|ran| 200 + ran.error.as_ref().map_or(0, String::len));
        let rules = route.rules.as_ref().map_or(0, Notes::bytes);
        processors.sum::<usize>() + rules
    });
    let texts = [
        record.reason.as_ref(),
        record.target.as_ref(),
        record.response.id.as_ref(),
        record.response.model.as_ref(),
        record.response.finish.as_ref(),
    ];
    let texts = texts.into_iter().flatten().map(String::len).sum::<usize>()
        + record.model.len()
        + record.candidates.len()
        + record.id.len();
    size_of_val(record)
        + texts
        + attempts(&record.attempts)
        + calls.sum::<usize>()
        + descriptions.sum::<usize>()
        + changes.sum::<usize>()
        + route
}

impl RequestTrace {
    /// Whether a reader may see this request.
    pub(crate) fn is_visible(&self, sees: &Visible) -> bool {
        let caller = &self.0.caller;
        sees.includes(caller.key.as_deref(), caller.team.as_deref())
    }
}

impl Serialize for RequestTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = &*self.0;
        // The wall clock may be unset at boot, or beyond any formattable date.
        let began = record.arrived.clamp(UNIX_EPOCH, UNIX_EPOCH + LATEST);
        let candidates = record.candidates.split(',').filter(|name| !name.is_empty());
        let candidates: Vec<&str> = candidates.collect();
        let described: Vec<DescriptionJson<'_>> =
            record.descriptions.iter().map(DescriptionJson).collect();
        let changes: Vec<String> = record.changes.iter().map(Change::to_string).collect();
        let mut fields = serializer.serialize_struct("RequestTrace", 26)?;
        fields.serialize_field("id", &*record.id)?;
        let at = humantime::format_rfc3339_millis(began).to_string();
        fields.serialize_field("at", &at)?;
        fields.serialize_field("key", &record.caller.key)?;
        fields.serialize_field("team", &record.caller.team)?;
        fields.serialize_field("tags", &record.caller.tags)?;
        fields.serialize_field("dialect", record.dialect.as_str())?;
        fields.serialize_field("client", &record.client)?;
        fields.serialize_field("stream", &record.stream)?;
        fields.serialize_field("model", &record.model)?;
        let route = record.routing.as_ref();
        fields.serialize_field("route", &route.map(|route| &*route.route))?;
        let rules = route.and_then(|route| route.rules.as_ref());
        let rules = rules.map(|notes| notes.trace().rules);
        fields.serialize_field("rules", &rules.unwrap_or_default())?;
        let processors = route.map_or(&[][..], |route| &route.processors);
        fields.serialize_field("processors", processors)?;
        fields.serialize_field("candidates", &candidates)?;
        fields.serialize_field("pick", &candidates.first())?;
        fields.serialize_field("because", &route.map(|route| route.because))?;
        fields.serialize_field("attempts", &AttemptListJson(&record.attempts))?;
        fields.serialize_field("descriptions", &described)?;
        fields.serialize_field("changes", &changes)?;
        fields.serialize_field("input_tokens", &record.usage.input)?;
        fields.serialize_field("output_tokens", &record.usage.output)?;
        let cost = record.cost().filter(|_| !record.calls.is_empty());
        fields.serialize_field("cost_usd", &cost.map(|cost| cost.to_string()))?;
        let first = record.first_token.map(milliseconds);
        fields.serialize_field("first_token_ms", &first)?;
        fields.serialize_field("took_ms", &milliseconds(record.took))?;
        fields.serialize_field("status", &record.status)?;
        fields.serialize_field("outcome", record.outcome.name())?;
        fields.serialize_field("reason", &record.reason)?;
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

struct DescriptionJson<'a>(&'a Description);

impl Serialize for DescriptionJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(call) = self;
        let mut fields = serializer.serialize_struct("Description", 5)?;
        fields.serialize_field("outcome", call.outcome)?;
        fields.serialize_field("attempts", &AttemptListJson(&call.attempts))?;
        fields.serialize_field("input_tokens", &call.usage.input)?;
        fields.serialize_field("output_tokens", &call.usage.output)?;
        fields.serialize_field("took_ms", &milliseconds(call.took))?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn trace(arrived: SystemTime) -> RequestTrace {
        RequestTrace(Arc::new(FinishedRequest {
            arrived,
            took: Duration::from_millis(1_500),
            candidates: "a/x,b/y".to_owned(),
            ..FinishedRequest::default()
        }))
    }

    #[test]
    fn a_trace_starts_at_the_requests_arrival() {
        let arrived = UNIX_EPOCH + Duration::from_millis(8_500);
        let json = serde_json::to_value(trace(arrived)).unwrap();
        assert_eq!(json["at"], "1970-01-01T00:00:08.500Z");
        assert_eq!(json["took_ms"], 1_500.0);
        assert_eq!(json["candidates"], serde_json::json!(["a/x", "b/y"]));
        assert_eq!(json["pick"], "a/x");
    }

    #[test]
    fn a_trace_is_serialized_for_any_wall_clock_time() {
        for (arrived, at) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00.000Z"),
            (
                UNIX_EPOCH - Duration::from_secs(3_600),
                "1970-01-01T00:00:00.000Z",
            ),
            (UNIX_EPOCH + LATEST * 2, "9999-12-31T23:59:59.000Z"),
        ] {
            let json = serde_json::to_value(trace(arrived)).unwrap();
            assert_eq!(json["at"], at);
        }
    }
}
