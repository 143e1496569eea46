//! Hands the bytes of a streamed response to its final [`Response`](crate::Response).

use std::sync::{Arc, Mutex, PoisonError};

use crate::RawBody;

/// Holds the bytes of a stream once it is complete. Clones share them.
///
/// A stream's events do not carry the provider's bytes. A model that finds a recorder
/// on its request puts them here, and the [`ResponseStream`](crate::ResponseStream)
/// moves them to `raw` of the final response.
///
/// ```
/// use majordomo_llm::{Dialect, RawBody, Request};
///
/// let (request, raw) = Request::user("hi").recording_raw();
/// let body = RawBody::new(Dialect::new("openai-chat"), "data: [DONE]\n\n".into());
/// request.clone().raw_recorder().unwrap().set(body.clone());
/// assert_eq!(raw.take(), Some(body));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RawRecorder(Arc<Mutex<Option<RawBody>>>);

impl RawRecorder {
    /// Sets the bytes of the complete stream.
    pub fn set(&self, raw: RawBody) {
        *self.lock() = Some(raw);
    }

    /// Removes and returns the bytes.
    pub fn take(&self) -> Option<RawBody> {
        self.lock().take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RawBody>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
