//! One event: a request as JSON, with its row for readers that want it.

use majordomo_page::{RequestRow, RowState, request_row};
use serde::Serialize;

use crate::record::milliseconds;

/// A request, running or finished. Unknown values are absent.
#[derive(Serialize)]
struct RequestEvent<'a> {
    id: &'a str,
    at: &'a str,
    /// `running`, `complete`, `failed`, `interrupted` or `gone`.
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    dialect: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_token_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<f64>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    changes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

/// A request that ended while its readers were shown only a sample.
#[derive(Serialize)]
struct EndedEvent<'a> {
    id: &'a str,
    state: &'static str,
}

/// Appends the event of a request.
pub(super) fn write(out: &mut String, row: &RequestRow, with_row: bool) {
    let (phase, status) = match &row.state {
        RowState::Running(phase) => (Some(phase.as_str()), None),
        RowState::Failed(status) => (None, Some(*status)),
        _ => (None, None),
    };
    append(
        out,
        "request",
        &RequestEvent {
            id: &row.id,
            at: &row.at,
            state: row.state.name(),
            phase,
            status,
            dialect: &row.dialect,
            client: row.client,
            key: row.key.as_deref(),
            model: &row.model,
            target: row.target.as_deref(),
            attempts: row.attempts,
            input_tokens: row.tokens.map(|(input, _)| input),
            output_tokens: row.tokens.map(|(_, output)| output),
            cost: row.cost.as_deref(),
            first_token_ms: row.first_token.map(milliseconds),
            took_ms: row.took.map(milliseconds),
            changes: &row.changes,
            html: with_row.then(|| request_row(row)),
        },
    );
}

/// Appends the event of a request whose record is not sent.
pub(super) fn write_ended(out: &mut String, id: &str) {
    append(out, "request", &EndedEvent { id, state: "ended" });
}

/// Appends the number of requests that were not sent one by one.
pub(super) fn write_skipped(out: &mut String, number: usize) {
    append(out, "skipped", &number);
}

/// Appends the figures of the last hour, as HTML.
pub(super) fn write_last_hour(out: &mut String, html: &str) {
    append(out, "last_hour", &html);
}

fn append(out: &mut String, event: &str, data: &impl Serialize) {
    // Serialized JSON has no line breaks, so one `data` line holds it.
    if let Ok(data) = serde_json::to_string(data) {
        out.push_str("event: ");
        out.push_str(event);
        out.push_str("\ndata: ");
        out.push_str(&data);
        out.push_str("\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_client_sends_stays_on_one_line() {
        let row = RequestRow {
            model: "a\n\nevent: x\r\u{2028}".to_owned(),
            ..RequestRow::default()
        };
        for with_row in [false, true] {
            let mut out = String::new();
            write(&mut out, &row, with_row);
            assert!(out.ends_with("\n\n"));
            assert_eq!(out.lines().count(), 3, "{out:?}");
            let fields: Vec<&str> = out.split(['\r', '\n']).collect();
            let named = fields.iter().filter(|line| line.starts_with("event:"));
            assert_eq!(named.count(), 1, "{out:?}");
        }
    }
}
