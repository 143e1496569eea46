//! Finish reasons. The dialect has no field for them: they follow from status
//! and content.

use majordomo_llm::FinishReason;

use crate::handles_all::handles_all;

/// The fields that determine the finish reason of a response.
#[derive(Default)]
pub(super) struct ResponsesEnd<'a> {
    pub(super) status: Option<&'a str>,
    /// Why it is incomplete.
    pub(super) reason: Option<&'a str>,
    pub(super) called_tools: bool,
    pub(super) refused: bool,
}

/// Derives the finish reason. Status takes precedence, since a truncated call
/// is not a call.
pub(super) fn read_finish_reason(end: &ResponsesEnd<'_>) -> FinishReason {
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

handles_all!(9 of FinishReason);

/// The reason of an incomplete response; `None` for a complete one.
pub(super) fn incomplete_reason(finish: &FinishReason) -> Option<&str> {
    match finish {
        FinishReason::Stop
        | FinishReason::StopSequence(_)
        | FinishReason::ToolCalls
        | FinishReason::Refusal
        | FinishReason::Paused => None,
        FinishReason::Length | FinishReason::ContextWindow => Some("max_output_tokens"),
        FinishReason::ContentFilter => Some("content_filter"),
        other => Some(other.name()),
    }
}

/// Why a reader cannot recover this finish reason.
pub(super) fn finish_loss(finish: &FinishReason) -> Option<&'static str> {
    match finish {
        FinishReason::StopSequence(_) => Some("Responses does not report stop sequences"),
        FinishReason::ContextWindow => Some("written as `max_output_tokens`"),
        FinishReason::Paused => Some("Responses has no paused responses"),
        _ => None,
    }
}
