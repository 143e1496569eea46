//! Why the model stopped, in this dialect's words.

use majordomo_llm::FinishReason;

/// Reads a word. Servers say `stop` after tool calls and refusals, too.
pub(super) fn read(word: &str, called_tools: bool, refused: bool) -> FinishReason {
    match word {
        "stop" | "eos" | "" if called_tools => FinishReason::ToolCalls,
        "stop" | "eos" | "" if refused => FinishReason::Refusal,
        "stop" | "eos" | "" => FinishReason::Stop,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "model_length" | "max_tokens" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Writes a word that every client knows.
pub(super) fn write(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::Refusal
        | FinishReason::Paused => "stop",
        FinishReason::Length | FinishReason::ContextWindow => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Other(word) => word,
    }
}
