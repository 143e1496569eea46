//! How a run ended.

use std::error::Error as StdError;
use std::fmt;

use majordomo_llm::{Error, Message, ToolCall, Usage};

use super::{AgentStep, Checkpoint};

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The final answer; in a run that was cut short, the last text of the model.
    pub output: String,
    /// The whole conversation, history and input included. It is valid for every
    /// provider, and the next run's history.
    pub messages: Vec<Message>,
    /// Every answer of the model in this run.
    pub steps: Vec<AgentStep>,
    /// Tokens of all calls together, compaction included.
    pub usage: Usage,
    /// Text of an answer that was still being streamed when the run ended.
    pub unfinished: String,
}

impl RunOutcome {
    /// A step's messages: the model's answer, and the results if tools were run.
    pub fn messages_of(&self, step: &AgentStep) -> &[Message] {
        self.messages.get(step.messages.clone()).unwrap_or_default()
    }
}

/// Why a run ended without a final answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The model failed, after whatever failover it has.
    Model(Error),
    /// The model was asked as often as allowed.
    MaxSteps(u32),
    /// A guard tripped; it says which.
    ToolLoop(String),
    /// The run was cancelled.
    Cancelled,
    /// The run's time was up.
    Deadline,
    /// Nobody could decide about this call now.
    Suspended(ToolCall),
    /// A checkpoint could not be saved.
    Checkpoint(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::MaxSteps(steps) => {
                write!(f, "max steps reached without a final answer ({steps})")
            }
            Self::ToolLoop(text) => write!(f, "tool-error guard tripped: {text}"),
            Self::Cancelled => f.write_str("the run was cancelled"),
            Self::Deadline => f.write_str("the run's deadline passed"),
            Self::Suspended(call) => write!(f, "the call of `{}` awaits a decision", call.name),
            Self::Checkpoint(text) => write!(f, "a checkpoint could not be saved: {text}"),
        }
    }
}

/// A run that ended without a final answer, with everything that it did.
#[derive(Clone)]
pub struct AgentError(Box<Detail>);

#[derive(Clone)]
struct Detail {
    reason: StopReason,
    outcome: RunOutcome,
    checkpoint: Checkpoint,
}

impl AgentError {
    pub(super) fn new(reason: StopReason, outcome: RunOutcome, checkpoint: Checkpoint) -> Self {
        Self(Box::new(Detail {
            reason,
            outcome,
            checkpoint,
        }))
    }

    /// Why it ended.
    pub fn reason(&self) -> &StopReason {
        &self.0.reason
    }

    /// What was done until then. Calls that were not answered say so.
    pub fn outcome(&self) -> &RunOutcome {
        &self.0.outcome
    }

    /// What was done until then.
    pub fn into_outcome(self) -> RunOutcome {
        self.0.outcome
    }

    /// Where [`Agent::resume`](super::Agent::resume) can go on.
    pub fn into_checkpoint(self) -> Checkpoint {
        self.0.checkpoint
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.reason.fmt(f)
    }
}

/// Short: the transcript is not for a log line.
impl fmt::Debug for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentError")
            .field("reason", &self.0.reason)
            .field("steps", &self.0.outcome.steps.len())
            .finish_non_exhaustive()
    }
}

/// The model's error is part of the text, so it is not told again as a source.
impl StdError for AgentError {}
