//! Why the model stopped, in this dialect's words.

use majordomo_llm::FinishReason;

/// Reads a word; `stop` is said after tool calls, too, and by old servers not at all.
pub(super) fn read(word: &str, called_tools: bool) -> FinishReason {
    match word {
        "stop" | "" if called_tools => FinishReason::ToolCalls,
        "stop" | "" => FinishReason::Stop,
        "tool_calls" => FinishReason::ToolCalls,
        "length" => FinishReason::Length,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Writes a word that every client knows.
pub(super) fn write(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls
        | FinishReason::Refusal
        | FinishReason::ContentFilter
        | FinishReason::Paused => "stop",
        FinishReason::Length | FinishReason::ContextWindow => "length",
        FinishReason::Other(word) => word,
    }
}
