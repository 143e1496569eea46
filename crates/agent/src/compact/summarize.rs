//! The compactor that is shipped: a model summarises the middle.
//!
//! The beginning (instructions and the first thing that the user said) tells
//! what all this is about; the end tells where things stand. Both stay as they
//! are. Calls are never parted from their results.

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{BoxFuture, Error, ErrorKind, Message, Model, Request, Result, Role, Usage};

use super::render::render;
use super::{Compact, Compacted, CompactionInput};

const PROMPT: &str = "You shorten conversations between a user and an assistant with tools. \
    Write a summary from which the assistant can go on without the original: what the user \
    wants and forbids, what was decided, what was found (names, numbers and paths exactly as \
    they are), what failed and why, and what is still to be done. \
    Write the summary only.";

/// Bytes of text per token of the summarising model's window: three quarters of
/// the usual four, so that the answer has room.
const BYTES_PER_TOKEN: u64 = 3;

/// Summarises the middle of a long conversation with a model of your choice.
///
/// ```
/// use majordomo::agent::{AgentBuilder, Summarize};
/// use majordomo::{Registry, SpecError};
///
/// fn frugal(agent: AgentBuilder, registry: &Registry) -> Result<AgentBuilder, SpecError> {
///     let cheap = registry.parse("ollama/qwen3:4b")?;
///     Ok(agent.compact(Summarize::with(cheap).above(60_000)))
/// }
/// ```
#[derive(Clone)]
pub struct Summarize {
    model: Arc<dyn Model>,
    above: Option<u64>,
    keep: Option<u64>,
}

impl Summarize {
    /// Summarises with this model, when a conversation fills three quarters of
    /// the agent's window. Where that window is not known, say
    /// [`above`](Summarize::above) how many tokens, or nothing is shortened.
    pub fn with(model: impl Model + 'static) -> Self {
        Self {
            model: Arc::new(model),
            above: None,
            keep: None,
        }
    }

    /// Shortens conversations of more than so many tokens.
    #[must_use]
    pub fn above(mut self, tokens: u64) -> Self {
        self.above = Some(tokens);
        self
    }

    /// Keeps the last messages up to so many tokens; a third of the limit unless
    /// set. The last turn always stays.
    #[must_use]
    pub fn keep(mut self, tokens: u64) -> Self {
        self.keep = Some(tokens);
        self
    }

    async fn shorten(&self, conversation: CompactionInput<'_>) -> Result<Option<Compacted>> {
        let CompactionInput { model, request } = conversation;
        let window = model.capabilities().context_window;
        let Some(limit) = self.above.or(window.map(|tokens| tokens / 4 * 3)) else {
            return Ok(None);
        };
        let before = model.estimate_tokens(request);
        if before <= limit {
            return Ok(None);
        }
        let messages = &request.messages;
        let Some(cut) = Cut::find(messages, model, self.keep.unwrap_or(limit / 3)) else {
            return Ok(None);
        };
        let (summary, usage) = self.summarize(cut.middle(messages)).await?;
        let messages = cut.join(messages, summary);
        let mut shorter = request.clone();
        shorter.edit().messages = messages.clone();
        if model.estimate_tokens(&shorter) >= before {
            let text = "the summary is not shorter than what it stands for";
            return Err(Error::new(ErrorKind::BadResponse, text));
        }
        Ok(Some(Compacted { messages, usage }))
    }

    async fn summarize(&self, middle: &[Message]) -> Result<(Message, Usage)> {
        let window = self.model.capabilities().context_window;
        let longest = window.map(|tokens| tokens.saturating_mul(BYTES_PER_TOKEN));
        let text = render(middle, longest);
        let response = self
            .model
            .generate(Request::user(text).system(PROMPT))
            .await?;
        let summary = response.text();
        if summary.trim().is_empty() {
            return Err(Error::new(ErrorKind::Empty, "the summary is empty"));
        }
        let text = format!(
            "[Summary of the conversation so far]\n{}\n[End of the summary]",
            summary.trim()
        );
        Ok((Message::user(text), response.usage))
    }
}

impl Compact for Summarize {
    fn compact<'a>(
        &'a self,
        conversation: CompactionInput<'a>,
    ) -> BoxFuture<'a, Result<Option<Compacted>>> {
        Box::pin(self.shorten(conversation))
    }
}

impl fmt::Debug for Summarize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summarize")
            .field("model", &self.model.name())
            .field("above", &self.above)
            .field("keep", &self.keep)
            .finish()
    }
}

/// Where the middle begins and ends.
struct Cut {
    start: usize,
    end: usize,
}

impl Cut {
    /// The widest middle that leaves at most `keep` tokens after it, and at least
    /// the last turn. None if there is nothing between the beginning and that.
    fn find(messages: &[Message], model: &dyn Model, keep: u64) -> Option<Self> {
        let first_user = messages.iter().position(|m| m.role == Role::User)?;
        let start = first_user + 1;
        let mut end = None;
        let mut tokens = 0;
        for (at, message) in messages.iter().enumerate().skip(start).rev() {
            tokens += model.estimate_tokens(&Request::from(vec![message.clone()]));
            if tokens > keep && end.is_some() {
                break;
            }
            // Before anything but results: those stay with their calls.
            if message.role != Role::Tool {
                end = Some(at);
            }
        }
        let end = end?;
        (end > start).then_some(Self { start, end })
    }

    fn middle<'a>(&self, messages: &'a [Message]) -> &'a [Message] {
        &messages[self.start..self.end]
    }

    /// Instructions in the middle stay, word for word.
    fn join(&self, messages: &[Message], summary: Message) -> Vec<Message> {
        let is_system = |m: &&Message| m.role == Role::System;
        let mut joined = messages[..self.start].to_vec();
        joined.extend(self.middle(messages).iter().filter(is_system).cloned());
        joined.push(summary);
        joined.extend_from_slice(&messages[self.end..]);
        joined
    }
}
