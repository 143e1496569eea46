//! The response object, shared by whole responses and by the first and last
//! events of a stream.

use majordomo_llm::{FinishReason, Native, Usage};

use super::{error, finish, usage};
use crate::json::Object;
use crate::{ClientError, Reply, RequestEcho};

/// Fields in which a server repeats the request, with their defaults. Clients require the
/// fields that have a default.
pub(super) const ECHOES: &[(&str, Option<&str>)] = &[
    ("background", Some("false")),
    ("conversation", None),
    ("frequency_penalty", Some("0")),
    ("instructions", Some("null")),
    ("max_output_tokens", Some("null")),
    ("max_tool_calls", Some("null")),
    ("metadata", Some("{}")),
    ("parallel_tool_calls", Some("true")),
    ("presence_penalty", Some("0")),
    ("previous_response_id", Some("null")),
    ("prompt", None),
    ("prompt_cache_key", Some("null")),
    ("prompt_cache_options", None),
    ("prompt_cache_retention", None),
    ("reasoning", Some("null")),
    ("safety_identifier", Some("null")),
    ("store", Some("false")),
    ("temperature", Some("1")),
    ("text", Some(r#"{"format":{"type":"text"}}"#)),
    ("tool_choice", Some("\"auto\"")),
    ("tools", Some("[]")),
    ("top_logprobs", Some("0")),
    ("top_p", Some("1")),
    ("truncation", Some("\"disabled\"")),
    ("user", None),
];

/// State that a server keeps: the conversation, the response, a prompt's cache. In a response,
/// these fields report what the server did, so the request's values are not repeated.
pub(super) const KEPT_BY_SERVER: &[&str] = &[
    "conversation",
    "prompt_cache_options",
    "prompt_cache_retention",
    "store",
];

/// Whether a field only repeats the request.
pub(super) fn is_echo(name: &str) -> bool {
    ECHOES.iter().any(|(echo, _)| *echo == name)
}

/// The status that follows from a finish reason.
pub(super) fn status(finish: &FinishReason) -> &'static str {
    match finish::incomplete_reason(finish) {
        Some(_) => "incomplete",
        None => "completed",
    }
}

/// Derives an item id from the response's id.
pub(super) fn item_id(response_id: &str, prefix: &str, place: usize) -> String {
    let unique = response_id.strip_prefix("resp_").unwrap_or(response_id);
    format!("{prefix}_{unique}_{place}")
}

/// A response object under construction.
pub(super) struct ResponsesEnvelope<'e> {
    id: &'e str,
    model: &'e str,
    created: u64,
    status: &'e str,
    incomplete: Option<&'e str>,
    error: Option<&'e ClientError>,
    /// The items, as a JSON array.
    output: &'e [u8],
    usage: Option<&'e Usage>,
    native: Option<&'e Native>,
    echo: &'e RequestEcho,
}

impl<'e> ResponsesEnvelope<'e> {
    /// A response in progress.
    pub(super) fn of(reply: &'e Reply) -> Self {
        Self {
            id: &reply.id,
            model: &reply.model,
            created: reply.created,
            status: "in_progress",
            incomplete: None,
            error: None,
            output: b"[]",
            usage: None,
            native: None,
            echo: &reply.echo,
        }
    }

    pub(super) fn finished(mut self, finish: &'e FinishReason) -> Self {
        self.status = status(finish);
        self.incomplete = finish::incomplete_reason(finish);
        self
    }

    pub(super) fn failed(mut self, error: &'e ClientError) -> Self {
        self.status = "failed";
        self.error = Some(error);
        self
    }

    pub(super) fn output(mut self, output: &'e [u8]) -> Self {
        self.output = output;
        self
    }

    pub(super) fn usage(mut self, usage: &'e Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    pub(super) fn native(mut self, native: Option<&'e Native>) -> Self {
        self.native = native;
        self
    }

    pub(super) fn write(self, object: &mut Object<'_>) {
        let echo = |name: &str| self.native?.get(&format!("echo.{name}"));
        object.string("id", self.id);
        object.string("object", "response");
        object.number("created_at", self.created);
        // Codecs have no clock: the time at which the response was begun stands for both.
        match self.status {
            "completed" => object.number("completed_at", self.created),
            _ => object.raw("completed_at", "null"),
        }
        match echo("status") {
            Some(status) => object.raw("status", status.as_str()),
            None => object.string("status", self.status),
        }
        match self.error {
            Some(error) => error::write_response_error(error, object),
            None => object.raw("error", "null"),
        }
        match self.incomplete {
            Some(reason) => object.object("incomplete_details", |o| o.string("reason", reason)),
            None => object.raw("incomplete_details", "null"),
        }
        object.string("model", self.model);
        object.value("output").extend_from_slice(self.output);
        for (name, default) in ECHOES {
            let value = echo(name).or_else(|| self.echo.field(name));
            match (value, default) {
                (Some(value), _) => object.raw(name, value.as_str()),
                (None, Some(default)) => object.raw(name, default),
                (None, None) => {}
            }
        }
        if self
            .native
            .is_none_or(|native| native.get("service_tier").is_none())
        {
            object.string("service_tier", "default");
        }
        match self.usage {
            Some(usage) => object.object("usage", |o| usage::write_usage(usage, o)),
            None => object.raw("usage", "null"),
        }
        object.native(self.native);
    }
}
