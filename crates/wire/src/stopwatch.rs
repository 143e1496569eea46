//! Measures how long a response has taken, for dialects that report it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The time since a request arrived. The crate has no clock, so the caller measures.
#[derive(Clone, Default)]
pub struct Stopwatch(Option<Arc<dyn Fn() -> Duration + Send + Sync>>);

impl Stopwatch {
    /// Measures with this function.
    pub fn new(elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(elapsed)))
    }

    /// The time since the request arrived, if it is measured.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        self.0.as_ref().map(|elapsed| elapsed())
    }
}

impl fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stopwatch").field(&self.elapsed()).finish()
    }
}
