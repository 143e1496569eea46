//! Messages to a running agent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use majordomo_llm::{Message, Part};

/// Sends messages to a run in progress. The model receives them with its next step.
///
/// Clones share one queue. Messages sent after the last step stay in it; see
/// [`Steer::take`].
#[derive(Clone, Debug, Default)]
pub struct Steer {
    queue: Arc<Mutex<Vec<Message>>>,
}

impl Steer {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Queues a user message.
    pub fn say(&self, part: impl Into<Part>) {
        self.queue().push(Message::user(part));
    }

    /// Removes and returns the messages that were not delivered.
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.queue())
    }

    fn queue(&self) -> MutexGuard<'_, Vec<Message>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
