//! Finish reasons: `stop_reason`, `stop_sequence` and `stop_details`.
//!
//! A refusal has no content; its explanation is in `stop_details`, which is read
//! as a refusal part and written back from one.

use bytes::BytesMut;
use majordomo_llm::{FinishReason, Json, Native, Part, Text};

use super::MESSAGES;
use crate::handles_all::handles_all;
use crate::json::{self, Cursor, JsonKind, Object, keep, object};
use crate::loss::{LossVerb, Losses};

/// Reads a stop reason. Compatible servers report `end_turn` even after tool
/// calls.
pub(super) fn read_finish_reason(
    word: &str,
    sequence: Option<String>,
    called_tools: bool,
) -> FinishReason {
    match word {
        "end_turn" | "" if called_tools => FinishReason::ToolCalls,
        "end_turn" | "" => FinishReason::Stop,
        "stop_sequence" => FinishReason::StopSequence(sequence),
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" => FinishReason::Length,
        "model_context_window_exceeded" => FinishReason::ContextWindow,
        "pause_turn" => FinishReason::Paused,
        "refusal" => FinishReason::Refusal,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Reads the `stop_details` of a refusal; `None` for any other type.
pub(super) fn read_stop_details(raw: &str) -> Option<Part> {
    let (mut kind, mut explanation) = (None, None);
    json::read_str(raw, |cursor: &mut Cursor<'_>| match cursor.peek()? {
        JsonKind::Object => cursor.loose_object(|key, cursor| {
            match &**key {
                "type" => kind = cursor.maybe_string()?,
                "explanation" => explanation = cursor.maybe_string()?,
                _ => {}
            }
            Ok(())
        }),
        _ => cursor.raw().map(drop),
    })
    .ok()?;
    if kind.as_deref() != Some("refusal") {
        return None;
    }
    Some(Part::Refusal(Text {
        text: explanation.unwrap_or_default().into_owned(),
        native: Native::new(MESSAGES)
            .with("stop_details", keep(raw))
            .into_option(),
    }))
}

/// The `stop_details` of a refusal.
pub(super) fn stop_details(refusal: &Text) -> Json {
    let native = refusal.native.as_deref();
    let own = native.filter(|native| *native.dialect() == MESSAGES);
    if let Some(details) = own.and_then(|native| native.get("stop_details")) {
        return details.clone();
    }
    let mut out = BytesMut::new();
    object(&mut out, |o| {
        o.string("type", "refusal");
        o.raw("category", "null");
        o.string("explanation", &refusal.text);
    });
    keep(&String::from_utf8_lossy(&out))
}

handles_all!(9 of FinishReason);

/// Writes the finish reason.
pub(super) fn write_finish_reason(
    reason: &FinishReason,
    details: Option<&Json>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let sequence = match reason {
        FinishReason::StopSequence(Some(text)) => Some(text.as_str()),
        _ => None,
    };
    let word = match reason {
        FinishReason::Stop => "end_turn",
        FinishReason::StopSequence(_) => "stop_sequence",
        FinishReason::Length => "max_tokens",
        FinishReason::ContextWindow => "model_context_window_exceeded",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::ContentFilter => {
            losses.record(
                LossVerb::Converted,
                "finish",
                "a content filter is written as a refusal",
            );
            "refusal"
        }
        FinishReason::Refusal => "refusal",
        FinishReason::Paused => "pause_turn",
        other => other.name(),
    };
    object.string("stop_reason", word);
    match sequence {
        Some(text) => object.string("stop_sequence", text),
        None => object.raw("stop_sequence", "null"),
    }
    if let Some(details) = details {
        object.raw("stop_details", details.as_str());
    }
}
