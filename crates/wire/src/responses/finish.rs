//! Why the model stopped. The dialect has no word for it: it follows from the
//! status and from what was said.

use majordomo_llm::FinishReason;

/// What an answer says about its end.
#[derive(Default)]
pub(super) struct End<'a> {
    pub(super) status: Option<&'a str>,
    /// Why it is incomplete.
    pub(super) reason: Option<&'a str>,
    pub(super) called_tools: bool,
    pub(super) refused: bool,
}

/// A call that was cut off is no call, so the status comes first.
pub(super) fn read(end: &End<'_>) -> FinishReason {
    match (end.status.unwrap_or("completed"), end.reason) {
        ("incomplete", None | Some("max_output_tokens")) => FinishReason::Length,
        ("incomplete", Some("content_filter")) => FinishReason::ContentFilter,
        ("incomplete", Some(other)) => FinishReason::Other(other.to_owned()),
        ("queued" | "in_progress", _) => FinishReason::Paused,
        ("completed" | "complete", _) if end.called_tools => FinishReason::ToolCalls,
        ("completed" | "complete", _) if end.refused => FinishReason::Refusal,
        ("completed" | "complete", _) => FinishReason::Stop,
        (other, _) => FinishReason::Other(other.to_owned()),
    }
}

/// The reason of an incomplete answer; none for a complete one.
pub(super) fn write(finish: &FinishReason) -> Option<&str> {
    match finish {
        FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls
        | FinishReason::Refusal
        | FinishReason::Paused => None,
        FinishReason::Length | FinishReason::ContextWindow => Some("max_output_tokens"),
        FinishReason::ContentFilter => Some("content_filter"),
        FinishReason::Other(word) => Some(word),
    }
}

/// Why a reader will not find this reason again.
pub(super) fn loss(finish: &FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::StopSequence(_) => Some("Responses does not tell stop sequences"),
        FinishReason::ContextWindow => Some("written as the limit of output tokens"),
        FinishReason::Paused => Some("Responses cannot ask for the conversation again"),
        _ => None,
    }
}
