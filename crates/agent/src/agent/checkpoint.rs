//! Serializable state of runs.

use std::error::Error as StdError;
use std::ops::Range;

use majordomo_llm::{
    AttemptLog, BoxFuture, FinishReason, Message, Part, Response, Role, ToolCall, ToolResult, Usage,
};
use serde::{Deserialize, Serialize};

/// The state of a run, sufficient to continue it in another process.
///
/// A run with a [`CheckpointStore`] saves one after each response and each tool result,
/// *before* acting on it. After a crash at any point, a resumed run repeats only tools
/// that had not yet returned a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The conversation, including history.
    pub(super) messages: Vec<Message>,
    /// The index of this run's input.
    pub(super) run_start: usize,
    pub(super) steps: Vec<AgentStep>,
    pub(super) usage: Usage,
    /// One slot per call of the last message, while its tools are running.
    pub(super) results: Option<Vec<Option<ToolResult>>>,
    /// Replaces the first messages when sending.
    pub(super) compacted: Option<CompactedStart>,
    /// The last message is the final answer.
    pub(super) finished: bool,
}

/// A compacted beginning of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CompactedStart {
    pub(super) messages: Vec<Message>,
    /// The number of messages of the transcript that this replaces.
    pub(super) replaces: usize,
}

/// One model call and the tool calls that followed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AgentStep {
    /// The step's number, from zero.
    pub index: usize,
    /// The target that served the call, as `provider/model`.
    pub model: String,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// Token usage of the call.
    pub usage: Usage,
    /// The targets tried.
    #[serde(alias = "ledger")]
    pub attempt_log: AttemptLog,
    /// The step's messages in the transcript: the response and the tool results.
    pub messages: Range<usize>,
}

impl Checkpoint {
    pub(super) fn new(input: Message) -> Self {
        Self {
            messages: vec![input],
            run_start: 0,
            steps: Vec::new(),
            usage: Usage::default(),
            results: None,
            compacted: None,
            finished: false,
        }
    }

    /// Prepends an earlier conversation.
    pub(super) fn prepend(&mut self, history: Vec<Message>) {
        let more = history.len();
        self.run_start += more;
        for step in &mut self.steps {
            step.messages = step.messages.start + more..step.messages.end + more;
        }
        if let Some(start) = &mut self.compacted {
            start.replaces += more;
            start.messages.splice(0..0, history.iter().cloned());
        }
        self.messages.splice(0..0, history);
    }

    /// Appends to the final user message, or starts one.
    pub(super) fn add_input(&mut self, part: Part) {
        self.close_results("The user continued before this tool returned a result.");
        self.finished = false;
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.parts.push(part),
            _ => self.messages.push(Message::user(part)),
        }
    }

    /// Returns the conversation so far. Calls of its last message may lack results.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the messages to send to the model.
    pub(super) fn to_send(&self) -> Vec<Message> {
        let Some(start) = &self.compacted else {
            return self.messages.clone();
        };
        let rest = &self.messages[start.replaces.min(self.messages.len())..];
        [start.messages.as_slice(), rest].concat()
    }

    /// Adds a response to the transcript.
    pub(super) fn record_response(&mut self, response: &Response) {
        let at = self.messages.len();
        self.usage += response.usage;
        self.steps.push(AgentStep {
            index: self.steps.len(),
            model: response.model.clone(),
            finish: response.finish.clone(),
            usage: response.usage,
            attempt_log: response.attempt_log.clone(),
            messages: at..at + 1,
        });
        self.messages.push(response.to_message());
        let calls = response.tool_calls().count();
        if calls > 0 {
            self.results = Some(vec![None; calls]);
        } else {
            // A paused response continues when the conversation is sent again.
            self.finished = response.finish != FinishReason::Paused;
        }
    }

    /// Returns the calls of the last message without a result, with their slots.
    pub(super) fn open_calls(&self) -> Vec<(usize, ToolCall)> {
        let (Some(results), Some(last)) = (&self.results, self.messages.last()) else {
            return Vec::new();
        };
        let calls = last.tool_calls().cloned().enumerate();
        calls
            .filter(|(slot, _)| results.get(*slot).is_some_and(Option::is_none))
            .collect()
    }

    pub(super) fn record_result(&mut self, slot: usize, result: ToolResult) {
        let results = self.results.as_mut();
        if let Some(slot) = results.and_then(|results| results.get_mut(slot)) {
            *slot = Some(result);
        }
    }

    /// Moves the results into the transcript. Calls without one get the error `missing`, so
    /// that the conversation stays valid.
    pub(super) fn close_results(&mut self, missing: &str) {
        let (Some(results), Some(last)) = (self.results.take(), self.messages.last()) else {
            return;
        };
        let complete: Vec<ToolResult> = last
            .tool_calls()
            .zip(results.into_iter().chain(std::iter::repeat(None)))
            .map(|(call, result)| result.unwrap_or_else(|| ToolResult::error(call, missing)))
            .collect();
        self.messages.push(Message::tool_results_message(complete));
        if let Some(step) = self.steps.last_mut() {
            step.messages.end = self.messages.len();
        }
    }

    /// Returns the number of the current step.
    pub(super) fn step(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }
}

/// Stores checkpoints.
pub trait CheckpointStore: Send + Sync {
    /// Saves a checkpoint, replacing the previous one. An error ends the run, because later
    /// work could not be distinguished from a repetition.
    fn save<'a>(
        &'a self,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>>;
}

/// A closure saves synchronously.
impl<F> CheckpointStore for F
where
    F: Fn(&Checkpoint) -> Result<(), Box<dyn StdError + Send + Sync>> + Send + Sync,
{
    fn save<'a>(
        &'a self,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>> {
        Box::pin(async move { self(checkpoint) })
    }
}
