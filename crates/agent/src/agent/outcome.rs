//! Results of runs.

use std::error::Error as StdError;
use std::fmt;

use majordomo_llm::{Error, Message, ToolCall, Usage};

use super::{AgentStep, Checkpoint};

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The final answer; if the run was stopped, the model's last text.
    pub output: String,
    /// The whole conversation, including history and input. It is valid for every provider
    /// and can be the history of the next run.
    pub messages: Vec<Message>,
    /// The steps of this run.
    pub steps: Vec<AgentStep>,
    /// Token usage of all calls, including compaction.
    pub usage: Usage,
    /// The text of a response that was still streaming when the run ended.
    pub unfinished: String,
}

impl RunOutcome {
    /// Returns the messages of a step: the response, and the tool results if any.
    pub fn messages_of(&self, step: &AgentStep) -> &[Message] {
        self.messages.get(step.messages.clone()).unwrap_or_default()
    }
}

/// Why a run ended without a final answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The model failed, after any failover.
    Model(Error),
    /// The maximum number of steps was reached.
    MaxSteps(u32),
    /// A guard against loops tripped.
    ToolLoop(String),
    /// The run was cancelled.
    Cancelled,
    /// The run's timeout expired.
    Deadline,
    /// A call awaits approval.
    Suspended(ToolCall),
    /// A checkpoint could not be saved.
    Checkpoint(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::MaxSteps(steps) => {
                write!(f, "no final answer within the maximum of {steps} steps")
            }
            Self::ToolLoop(text) => write!(f, "the run was stopped: {text}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::Deadline => f.write_str("the run's deadline passed"),
            Self::Suspended(call) => write!(f, "the call of `{}` awaits approval", call.name),
            Self::Checkpoint(text) => write!(f, "a checkpoint could not be saved: {text}"),
        }
    }
}

/// A run that ended without a final answer, and everything it did.
#[derive(Clone)]
pub struct AgentError(Box<AgentErrorDetail>);

#[derive(Clone)]
struct AgentErrorDetail {
    reason: StopReason,
    outcome: RunOutcome,
    checkpoint: Checkpoint,
}

impl AgentError {
    pub(super) fn new(reason: StopReason, outcome: RunOutcome, checkpoint: Checkpoint) -> Self {
        Self(Box::new(AgentErrorDetail {
            reason,
            outcome,
            checkpoint,
        }))
    }

    /// Returns why the run ended.
    pub fn reason(&self) -> &StopReason {
        &self.0.reason
    }

    /// Returns the result so far. Calls without a result have an error result.
    pub fn outcome(&self) -> &RunOutcome {
        &self.0.outcome
    }

    /// Converts the error into the result so far.
    pub fn into_outcome(self) -> RunOutcome {
        self.0.outcome
    }

    /// Converts the error into a checkpoint for [`Agent::resume`](super::Agent::resume).
    pub fn into_checkpoint(self) -> Checkpoint {
        self.0.checkpoint
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.reason.fmt(f)
    }
}

/// Omits the transcript, which is too long for logs.
impl fmt::Debug for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentError")
            .field("reason", &self.0.reason)
            .field("steps", &self.0.outcome.steps.len())
            .finish_non_exhaustive()
    }
}

/// `source` is `None`, because the model's error is already part of the text.
impl StdError for AgentError {}
