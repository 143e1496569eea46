//! Why the model stopped, in this dialect's words.

use std::borrow::Cow;

use majordomo_llm::FinishReason;

use crate::json::{Cursor, JsonKind, ReadResult};
use crate::loss::Losses;

/// The word under the cursor; some proxies send the numbers of Vertex AI's enum.
pub(super) fn word<'a>(cursor: &mut Cursor<'a>) -> ReadResult<Option<Cow<'a, str>>> {
    const WORDS: [&str; 11] = [
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
            let known = raw.parse().ok().and_then(|n: usize| WORDS.get(n));
            Ok(Some(Cow::Borrowed(known.copied().unwrap_or(raw))))
        }
        _ => cursor.maybe_string(),
    }
}

/// Reads a word. Answers that ask for tools stop like any other.
pub(super) fn read(word: &str, called_tools: bool) -> FinishReason {
    match word {
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

/// Writes the nearest word, and notes what it does not say.
pub(super) fn write<'r>(reason: &'r FinishReason, losses: &mut Losses) -> &'r str {
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::StopSequence(None) => "STOP",
        FinishReason::StopSequence(Some(_)) => {
            losses.add("stop_sequence", "Gemini does not say which one it was");
            "STOP"
        }
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::ContextWindow => {
            losses.add("finish", "a full context window is told as MAX_TOKENS");
            "MAX_TOKENS"
        }
        FinishReason::ContentFilter => "SAFETY",
        FinishReason::Refusal => {
            losses.add("finish", "a refusal is told as SAFETY");
            "SAFETY"
        }
        FinishReason::Paused => "CONTINUATION",
        FinishReason::Other(word) if is_word(word) => word,
        FinishReason::Other(_) => {
            losses.add("finish", "a reason of another dialect is told as OTHER");
            "OTHER"
        }
    }
}

fn is_word(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !word.is_empty() && word.chars().all(fits)
}
