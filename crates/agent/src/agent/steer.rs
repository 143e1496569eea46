//! A hand on the wheel of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use majordomo_llm::{Message, Part};

/// Says something to a run while it goes on; the model hears it before its next
/// step. Clones share one queue.
///
/// What is said after the model's last step stays here for [`Steer::take`].
#[derive(Clone, Debug, Default)]
pub struct Steer {
    waiting: Arc<Mutex<Vec<Message>>>,
}

impl Steer {
    /// A hand that has said nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says something as the user.
    pub fn say(&self, part: impl Into<Part>) {
        self.waiting().push(Message::user(part));
    }

    /// Takes what has not been heard yet.
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut self.waiting())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Message>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
