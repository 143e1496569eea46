//! What a run tells while it goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use majordomo_llm::{Response, ToolCall, ToolResult};

use super::builder::Observer;

/// Something that happened in a run. Steps count from 0.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// Messages of the steering hand were added.
    Steered {
        /// The step before which they came.
        step: usize,
        /// How many.
        messages: usize,
    },
    /// What is sent was shortened.
    Compacted {
        /// The step for which it was done.
        step: usize,
        /// Messages before.
        before: usize,
        /// Messages after.
        after: usize,
    },
    /// Shortening failed; everything is sent as it is.
    CompactionFailed {
        /// The step for which it was tried.
        step: usize,
        /// Why.
        reason: String,
    },
    /// The model is about to be asked.
    ModelStarted {
        /// The step.
        step: usize,
    },
    /// More of the answer's text; only in a run that is streamed.
    Text(String),
    /// More of the answer's reasoning; only in a run that is streamed.
    Reasoning(String),
    /// The model answered.
    ModelFinished {
        /// The step.
        step: usize,
        /// The answer.
        response: Box<Response>,
    },
    /// A tool is about to run: it exists, its arguments match, it is allowed.
    ToolStarted {
        /// The step whose answer asked for it.
        step: usize,
        /// The call.
        call: ToolCall,
    },
    /// A call has its result, also one that was never run.
    ToolFinished {
        /// The step whose answer asked for it.
        step: usize,
        /// The result.
        result: ToolResult,
    },
}

/// Tells everybody; the event is made only if somebody listens.
pub(super) fn tell<'a>(
    observers: impl IntoIterator<Item = &'a Observer>,
    event: impl FnOnce() -> AgentEvent,
) {
    let mut observers = observers.into_iter().peekable();
    if observers.peek().is_none() {
        return;
    }
    let event = event();
    for observer in observers {
        // A listener's panic is its own problem.
        let _ = catch_unwind(AssertUnwindSafe(|| observer(&event)));
    }
}
