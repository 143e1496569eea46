//! Options for the execution of a request, which are never sent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Accept, Timer, TraceHeaders};

/// How a [`Request`](crate::Request) is executed: timeouts and the accept hook.
///
/// Set with the request's own methods.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// The timeout for all attempts together.
    pub timeout: Option<Duration>,
    /// The caller's timers, in the order in which they were set. Usually empty, and so free to
    /// clone.
    pub timers: Vec<(Timer, Duration)>,
    /// The hook that validates responses.
    pub accept: Option<Arc<dyn Accept>>,
    /// Whether to request usage for streams from every server that reports it only on request.
    pub usage_needed: bool,
    /// Whether to set prompt-cache breakpoints where the caller set none; `None` leaves it to
    /// the provider's settings.
    pub auto_cache: Option<bool>,
    /// The headers that carry the request's trace and id to providers.
    pub trace: Option<Arc<TraceHeaders>>,
}

/// The hook has no `Debug` form.
impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("timers", &self.timers)
            .field("accept", &self.accept.is_some())
            .field("usage_needed", &self.usage_needed)
            .field("auto_cache", &self.auto_cache)
            .finish()
    }
}
