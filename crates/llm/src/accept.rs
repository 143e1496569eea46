//! The hook that judges an answer before it is taken.

use crate::{Message, Response};

/// Judges a complete answer; typed output plugs in here.
///
/// A chain asks it after every answer. A refused one is repaired once on the
/// same target, if the refusal says how, and then counts like an empty answer:
/// the chain goes on to the next target.
pub trait Accept: Send + Sync {
    /// Takes the answer, or says why not.
    fn accept(&self, response: &Response) -> Result<(), Rejection>;
}

/// Why an answer was not taken.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// In a sentence, for the error.
    pub reason: String,
    /// What to add to the conversation, after the refused answer itself, before
    /// the same target is asked once more; empty means that asking again is useless.
    pub repair: Vec<Message>,
}
