//! Compaction by summarization.
//!
//! A model summarizes the middle of the conversation. The beginning, up to the first user
//! message, and the end stay unchanged. Calls are never separated from their results.

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{
    BoxFuture, Error, ErrorKind, Message, Model, ModelExt, Request, Result, Role, Usage,
};

use super::render::render;
use super::{Compact, Compacted, CompactionInput};

const PROMPT: &str = "You shorten conversations between a user and an assistant with tools. \
    Write a summary from which the assistant can go on without the original: what the user \
    wants and forbids, what was decided, what was found (names, numbers and paths exactly as \
    they are), what failed and why, and what is still to be done. \
    Write the summary only.";

/// Bytes of input per token of the summarizing model's context window: three quarters of
/// the usual four, to leave room for the summary.
const BYTES_PER_TOKEN: u64 = 3;

/// Summarizes the middle of long conversations with a model.
///
/// ```
/// use majordomo::agent::{AgentBuilder, Summarize};
/// use majordomo::Registry;
/// use majordomo::spec::SpecError;
///
/// fn frugal(agent: AgentBuilder, registry: &Registry) -> Result<AgentBuilder, SpecError> {
///     let cheap = registry.model("ollama/qwen3:4b")?;
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
    /// Summarizes with this model once a conversation fills three quarters of the agent's
    /// context window. If the window is unknown, set [`above`](Summarize::above);
    /// otherwise nothing is compacted.
    pub fn with(model: impl Model + 'static) -> Self {
        Self {
            model: Arc::new(model),
            above: None,
            keep: None,
        }
    }

    /// Compacts conversations of more than this many tokens.
    #[must_use]
    pub fn above(mut self, tokens: u64) -> Self {
        self.above = Some(tokens);
        self
    }

    /// Keeps up to this many tokens at the end. The default is a third of the limit. The
    /// last turn is always kept.
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
        let messages = &request.prompt().messages;
        let Some(range) = SummaryRange::find(messages, model, self.keep.unwrap_or(limit / 3))
        else {
            return Ok(None);
        };
        let (summary, usage) = self.summarize(range.middle(messages)).await?;
        let messages = range.join(messages, summary);
        let mut shorter = request.clone();
        shorter.edit().messages = messages.clone();
        if model.estimate_tokens(&shorter) >= before {
            let text = "the summary is not shorter than the messages it replaces";
            return Err(Error::new(ErrorKind::BadResponse, text));
        }
        Ok(Some(Compacted { messages, usage }))
    }

    async fn summarize(&self, middle: &[Message]) -> Result<(Message, Usage)> {
        let window = self.model.capabilities().context_window;
        let max_len = window.map(|tokens| tokens.saturating_mul(BYTES_PER_TOKEN));
        let text = render(middle, max_len);
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

/// The range of messages to summarize.
struct SummaryRange {
    start: usize,
    end: usize,
}

impl SummaryRange {
    /// Finds the longest range that leaves at most `keep` tokens after it, but at least the
    /// last turn. Returns `None` if the range is empty.
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
            // Never cut before results: they stay with their calls.
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

    /// Replaces the range with its system messages and the summary.
    fn join(&self, messages: &[Message], summary: Message) -> Vec<Message> {
        let is_system = |m: &&Message| m.role == Role::System;
        let mut joined = messages[..self.start].to_vec();
        joined.extend(self.middle(messages).iter().filter(is_system).cloned());
        joined.push(summary);
        joined.extend_from_slice(&messages[self.end..]);
        joined
    }
}
