//! Decides whether a failed target is called again, within one request.
//!
//! The same target is called again once for free if it never saw the request, as often as
//! configured after transient failures, and once to repair a rejected response. There is no
//! backoff: health benches a target that keeps failing, and allows a retry of every tenth
//! forced attempt if the target is the chain's only one.

use majordomo_llm::{Class, Message, SameTarget};

/// The retries left for one target.
pub(super) struct RetryBudget {
    retries: u32,
    free_retry: bool,
    repair: Option<Vec<Message>>,
}

impl RetryBudget {
    pub(super) fn new(retries: u32) -> Self {
        Self {
            retries,
            free_retry: true,
            repair: None,
        }
    }

    /// Whether a failure of this class is retried, if `health` allows it; spends the retry.
    pub(super) fn allows(&mut self, class: Class, health: impl FnOnce() -> bool) -> bool {
        match class.verdict().same_target {
            SameTarget::Free if self.free_retry => {
                self.free_retry = false;
                true
            }
            SameTarget::Retry if self.retries > 0 => {
                self.retries -= 1;
                health()
            }
            _ => false,
        }
    }

    /// Whether a rejected response is repaired with these messages; spends the repair.
    pub(super) fn repair_with(&mut self, messages: Vec<Message>) -> bool {
        let repairable = self.repair.is_none() && !messages.is_empty();
        if repairable {
            self.repair = Some(messages);
        }
        repairable
    }

    /// The messages that repair the rejected response.
    pub(super) fn repair(&self) -> Option<&[Message]> {
        self.repair.as_deref()
    }
}
