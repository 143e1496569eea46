//! Where whoever handles a request writes down what it changed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Change;

/// The notes of one attempt; clones share them.
///
/// A codec finds out what a target's dialect cannot say only while it writes the
/// request, deep inside the provider. It notes that on the request, and the
/// chain puts the notes into the attempt's line of the ledger.
///
/// ```
/// use majordomo_llm::{Change, Request};
///
/// let (request, notes) = Request::user("hi").recording_changes();
/// request.clone().record_change(Change::new("top_k", "dropped"));
/// assert_eq!(notes.take()[0].to_string(), "top_k dropped");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChangeRecorder(Arc<Mutex<Vec<Change>>>);

impl ChangeRecorder {
    pub(crate) fn add(&self, change: Change) {
        self.lock().push(change);
    }

    /// Everything that was noted so far.
    pub fn take(&self) -> Vec<Change> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Change>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
