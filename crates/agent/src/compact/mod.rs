//! Shortens what is sent when a conversation grows long.

mod render;
mod summarize;

use majordomo_llm::{BoxFuture, Message, Model, Request, Result, Usage};

pub use summarize::Summarize;

/// A conversation that is about to be sent.
#[derive(Clone, Copy)]
pub struct CompactionInput<'a> {
    /// Who will get it.
    pub model: &'a dyn Model,
    /// What would be sent: system, tools and messages, earlier compaction
    /// included.
    pub request: &'a Request,
}

/// A shorter conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compacted {
    /// What is sent from now on in place of the messages so far.
    pub messages: Vec<Message>,
    /// What making it cost.
    pub usage: Usage,
}

/// Makes a conversation shorter, before each call of the model.
///
/// The agent remembers the result and adds what comes after it, so this need not
/// keep anything. The transcript in the run's outcome stays whole. On an error,
/// or when calls and results no longer pair, everything is sent as it is.
pub trait Compact: Send + Sync {
    /// The shorter conversation, or `None` while it is short enough.
    fn compact<'a>(
        &'a self,
        conversation: CompactionInput<'a>,
    ) -> BoxFuture<'a, Result<Option<Compacted>>>;
}
