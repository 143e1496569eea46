//! Maps `finish_reason` to [`FinishReason`] and back.

use majordomo_llm::FinishReason;

use crate::handles_all::handles_all;

/// Reads a `finish_reason`. Some servers report `stop` after tool calls and
/// refusals as well.
pub(super) fn read_finish_reason(reason: &str, called_tools: bool, refused: bool) -> FinishReason {
    match reason {
        "stop" | "eos" | "" if called_tools => FinishReason::ToolCalls,
        "stop" | "eos" | "" if refused => FinishReason::Refusal,
        "stop" | "eos" | "" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "model_length" | "max_tokens" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}

handles_all!(9 of FinishReason);

/// Writes a `finish_reason` that every client knows.
pub(super) fn write_finish_reason(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::Refusal
        | FinishReason::Paused => "stop",
        FinishReason::Length | FinishReason::ContextWindow => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        other => other.name(),
    }
}
