//! Events of a run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use majordomo_llm::{Response, ToolCall, ToolResult};

use super::builder::Observer;

/// An event of a run. Steps are numbered from zero.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// Messages were added through a [`Steer`](super::Steer) handle.
    Steered {
        /// The step that follows.
        step: usize,
        /// The number of messages.
        messages: usize,
    },
    /// The conversation was compacted.
    Compacted {
        /// The step that follows.
        step: usize,
        /// Messages before compaction.
        before: usize,
        /// Messages after compaction.
        after: usize,
    },
    /// Compaction failed; the whole conversation is sent.
    CompactionFailed {
        /// The step that follows.
        step: usize,
        /// The reason.
        reason: String,
    },
    /// The model is about to be called.
    ModelStarted {
        /// The step.
        step: usize,
    },
    /// A text delta; only in a streamed run.
    Text(String),
    /// A reasoning delta; only in a streamed run.
    Reasoning(String),
    /// The model has responded.
    ModelFinished {
        /// The step.
        step: usize,
        /// The response.
        response: Box<Response>,
    },
    /// A tool is about to run: the call is valid and approved.
    ToolStarted {
        /// The step that requested the call.
        step: usize,
        /// The call.
        call: ToolCall,
    },
    /// A call has its result, even if the tool did not run.
    ToolFinished {
        /// The step that requested the call.
        step: usize,
        /// The result.
        result: ToolResult,
    },
}

/// Notifies the observers. The event is created only if there are any.
pub(super) fn emit<'a>(
    observers: impl IntoIterator<Item = &'a Observer>,
    event: impl FnOnce() -> AgentEvent,
) {
    let mut observers = observers.into_iter().peekable();
    if observers.peek().is_none() {
        return;
    }
    let event = event();
    for observer in observers {
        // An observer's panic must not affect the run.
        let _ = catch_unwind(AssertUnwindSafe(|| observer(&event)));
    }
}
