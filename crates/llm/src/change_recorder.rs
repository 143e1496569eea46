//! Records the changes made to a request on its way to a target.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Change;

/// Collects the [`Change`]s of one attempt. Clones share the list.
///
/// A codec discovers what a dialect cannot express only while it encodes the request,
/// deep inside the provider. It records the change on the request, and the chain moves
/// it to the [`AttemptLog`](crate::AttemptLog).
///
/// ```
/// use majordomo_llm::{Change, Request};
///
/// let (request, changes) = Request::user("hi").recording_changes();
/// request.clone().record_change(Change::new("top_k", "dropped"));
/// assert_eq!(changes.take()[0].to_string(), "top_k dropped");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChangeRecorder(Arc<Mutex<Vec<Change>>>);

impl ChangeRecorder {
    pub(crate) fn add(&self, change: Change) {
        self.lock().push(change);
    }

    /// Removes and returns the changes recorded so far.
    pub fn take(&self) -> Vec<Change> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Change>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
