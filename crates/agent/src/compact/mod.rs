//! Compaction of long conversations.

mod render;
mod summarize;

use majordomo_llm::{BoxFuture, Message, Model, Request, Result, Usage};

pub use summarize::Summarize;

/// A conversation about to be sent.
#[derive(Clone, Copy)]
pub struct CompactionInput<'a> {
    /// The model that will receive it.
    pub model: &'a dyn Model,
    /// The request to send, after any earlier compaction.
    pub request: &'a Request,
}

/// A compacted conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compacted {
    /// Replaces the messages so far in all further requests.
    pub messages: Vec<Message>,
    /// Token usage of the compaction.
    pub usage: Usage,
}

/// Compacts conversations. Called before each model call.
///
/// Implementations are stateless: the agent keeps the result and appends later messages
/// to it. The transcript in the run's outcome stays complete. If compaction fails, or
/// separates calls from their results, the whole conversation is sent.
pub trait Compact: Send + Sync {
    /// Returns the compacted conversation, or `None` if it is short enough.
    fn compact<'a>(
        &'a self,
        conversation: CompactionInput<'a>,
    ) -> BoxFuture<'a, Result<Option<Compacted>>>;
}
