//! Where a run stands, in a form that can be saved.

use std::error::Error as StdError;
use std::ops::Range;

use majordomo_llm::{
    AttemptLog, BoxFuture, FinishReason, Message, Part, Response, Role, ToolCall, ToolResult, Usage,
};
use serde::{Deserialize, Serialize};

/// All that a run needs to go on in another process.
///
/// A run with a [`CheckpointStore`] saves one after each answer of the model and
/// after each tool result, *before* anything is done with it. A process that dies
/// at any point can so be followed by one that runs no tool twice, except those
/// that had not reported a result yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The conversation, history included.
    pub(super) messages: Vec<Message>,
    /// Where this run begins in it: at its input.
    pub(super) run_start: usize,
    pub(super) steps: Vec<AgentStep>,
    pub(super) usage: Usage,
    /// One place per call of the last message while they are being answered.
    pub(super) results: Option<Vec<Option<ToolResult>>>,
    /// What is sent in place of the first messages.
    pub(super) compacted: Option<CompactedStart>,
    /// The last message is the final answer.
    pub(super) finished: bool,
}

/// A shorter text for the beginning of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CompactedStart {
    pub(super) messages: Vec<Message>,
    /// How many messages of the transcript these stand for.
    pub(super) replaces: usize,
}

/// One answer of the model and what followed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentStep {
    /// Counted from 0.
    pub index: usize,
    /// Who answered, as `provider/model`.
    pub model: String,
    /// Why the answer ended.
    pub finish: FinishReason,
    /// What the answer cost.
    pub usage: Usage,
    /// Who was asked on the way.
    #[serde(alias = "ledger")]
    pub attempt_log: AttemptLog,
    /// Its messages in the transcript: the answer, and the tools' results.
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

    /// Puts an earlier conversation before everything else.
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

    /// Adds to the user's message at the end, or starts one.
    pub(super) fn add_input(&mut self, part: Part) {
        self.close_results("The user went on before this tool gave a result.");
        self.finished = false;
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.parts.push(part),
            _ => self.messages.push(Message::user(part)),
        }
    }

    /// The conversation so far; calls of its last message may be unanswered.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// What would be sent to the model now.
    pub(super) fn to_send(&self) -> Vec<Message> {
        let Some(start) = &self.compacted else {
            return self.messages.clone();
        };
        let rest = &self.messages[start.replaces.min(self.messages.len())..];
        [start.messages.as_slice(), rest].concat()
    }

    /// Takes the model's answer into the transcript.
    pub(super) fn answered(&mut self, response: &Response) {
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
            // A pause wants the conversation sent again.
            self.finished = response.finish != FinishReason::Paused;
        }
    }

    /// The calls of the last message that have no result yet, with their places.
    pub(super) fn open_calls(&self) -> Vec<(usize, ToolCall)> {
        let (Some(results), Some(last)) = (&self.results, self.messages.last()) else {
            return Vec::new();
        };
        let calls = last.tool_calls().cloned().enumerate();
        calls
            .filter(|(place, _)| results.get(*place).is_some_and(Option::is_none))
            .collect()
    }

    pub(super) fn record(&mut self, place: usize, result: ToolResult) {
        let results = self.results.as_mut();
        if let Some(slot) = results.and_then(|results| results.get_mut(place)) {
            *slot = Some(result);
        }
    }

    /// Moves the results into the transcript. A call without one is answered
    /// with `missing`, so that the conversation stays valid.
    pub(super) fn close_results(&mut self, missing: &str) {
        let (Some(results), Some(last)) = (self.results.take(), self.messages.last()) else {
            return;
        };
        let answers: Vec<ToolResult> = last
            .tool_calls()
            .zip(results.into_iter().chain(std::iter::repeat(None)))
            .map(|(call, result)| result.unwrap_or_else(|| ToolResult::error(call, missing)))
            .collect();
        self.messages.push(Message::tool_results_message(answers));
        if let Some(step) = self.steps.last_mut() {
            step.messages.end = self.messages.len();
        }
    }

    /// The number of the step that is under way.
    pub(super) fn step(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }
}

/// Keeps checkpoints: a file, a row, a key.
pub trait CheckpointStore: Send + Sync {
    /// Saves where the run stands. An error ends the run, since nothing after it
    /// could be told apart from a second try.
    fn save<'a>(
        &'a self,
        checkpoint: &'a Checkpoint,
    ) -> BoxFuture<'a, Result<(), Box<dyn StdError + Send + Sync>>>;
}

/// Closures save at once.
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
