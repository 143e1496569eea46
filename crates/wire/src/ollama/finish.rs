//! Maps `done_reason` to [`FinishReason`] and back.

use majordomo_llm::FinishReason;

use crate::handles_all::handles_all;

/// Reads a `done_reason`. Servers report `stop` after tool calls as well, and old
/// ones omit it.
pub(super) fn read_finish_reason(reason: &str, called_tools: bool) -> FinishReason {
    match reason {
        "stop" | "" if called_tools => FinishReason::ToolCalls,
        "stop" | "" => FinishReason::Stop,
        "tool_calls" => FinishReason::ToolCalls,
        "length" => FinishReason::Length,
        other => FinishReason::Other(other.to_owned()),
    }
}

handles_all!(9 of FinishReason);

/// Writes a `done_reason` that every client knows.
pub(super) fn write_finish_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls
        | FinishReason::Refusal
        | FinishReason::ContentFilter
        | FinishReason::Paused => "stop",
        FinishReason::Length | FinishReason::ContextWindow => "length",
        other => other.name(),
    }
}
