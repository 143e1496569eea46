//! Maps `finishReason` to [`FinishReason`] and back.

use std::borrow::Cow;

use majordomo_llm::FinishReason;

use crate::handles_all::handles_all;
use crate::json::{Cursor, JsonKind, ReadResult};
use crate::loss::{LossVerb, Losses};

/// Reads the name of a `finishReason`. Some proxies send the number of the Vertex
/// AI enum value instead.
pub(super) fn read_finish_reason_name<'a>(
    cursor: &mut Cursor<'a>,
) -> ReadResult<Option<Cow<'a, str>>> {
    const NAMES: [&str; 11] = [
        "FINISH_REASON_UNSPECIFIED",
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "MODEL_ARMOR",
    ];
    match cursor.peek()? {
        JsonKind::Number => {
            let raw = cursor.raw()?;
            let name = raw.parse().ok().and_then(|n: usize| NAMES.get(n));
            Ok(Some(Cow::Borrowed(name.copied().unwrap_or(raw))))
        }
        _ => cursor.maybe_string(),
    }
}

/// Maps a `finishReason`. A response with function calls ends with `STOP`.
pub(super) fn read_finish_reason(name: &str, called_tools: bool) -> FinishReason {
    match name {
        "STOP" | "FINISH_REASON_UNSPECIFIED" | "" if called_tools => FinishReason::ToolCalls,
        "STOP" | "FINISH_REASON_UNSPECIFIED" | "" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "CONTINUATION" => FinishReason::Paused,
        other => FinishReason::Other(other.to_owned()),
    }
}

handles_all!(9 of FinishReason);

/// Returns the closest `finishReason` and records the loss, if any.
pub(super) fn write_finish_reason<'r>(reason: &'r FinishReason, losses: &mut Losses) -> &'r str {
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::StopSequence(None) => "STOP",
        FinishReason::StopSequence(Some(_)) => {
            losses.add("stop_sequence", "Gemini does not report which one matched");
            "STOP"
        }
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::ContextWindow => {
            losses.record(
                LossVerb::Converted,
                "finish",
                "a full context window is reported as MAX_TOKENS",
            );
            "MAX_TOKENS"
        }
        FinishReason::ContentFilter => "SAFETY",
        FinishReason::Refusal => {
            losses.record(
                LossVerb::Converted,
                "finish",
                "a refusal is reported as SAFETY",
            );
            "SAFETY"
        }
        FinishReason::Paused => "CONTINUATION",
        FinishReason::Other(name) if is_enum_name(name) => name,
        _ => {
            losses.record(
                LossVerb::Converted,
                "finish",
                "a reason of another dialect is reported as OTHER",
            );
            "OTHER"
        }
    }
}

fn is_enum_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(is_allowed)
}
