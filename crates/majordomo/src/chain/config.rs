//! Configuration of a chain.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Class, Error};

use super::Shape;

/// What a chain does when every target that can serve the request is benched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllBenched {
    /// Calls the target whose bench ends first, once; never while the provider demands
    /// a pause (`Retry-After`), and never with a rejected credential.
    #[default]
    LeastBad,
    /// Fails at once.
    Fail,
}

/// Classifies an error instead of [`Error::class`].
pub(crate) type Classify = Arc<dyn Fn(&Error) -> Class + Send + Sync>;

/// How a chain moves from target to target.
///
/// ```
/// use majordomo::chain::ChainConfig;
///
/// let config = ChainConfig::default().with_retries(0);
/// assert!(!config.advance_on_permanent);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ChainConfig {
    /// Immediate retries of one target after a transient failure.
    pub retries: u32,
    /// Whether a bad request or a policy refusal advances to the next target.
    pub advance_on_permanent: bool,
    /// What happens when every target is benched.
    pub all_benched: AllBenched,
    /// Timeout of a request over all attempts, unless the request sets its own. It also
    /// ends committed streams.
    pub deadline: Option<Duration>,
    /// Longest `Retry-After` that a request waits for, once, when every target demands a
    /// pause; `None` fails at once.
    pub max_retry_after: Option<Duration>,
    /// Timeout of one attempt: until the whole response, or until a stream commits.
    /// It counts against the target like any other timeout.
    pub attempt: Option<Duration>,
    /// Classifies errors instead of the built-in classification.
    pub classify: Option<Classify>,
    /// Shape the request for each target, in this order, at each attempt.
    pub shapes: Vec<Arc<dyn Shape>>,
}

impl Default for ChainConfig {
    fn default() -> Self {
        Self {
            retries: 1,
            advance_on_permanent: false,
            all_benched: AllBenched::default(),
            deadline: None,
            max_retry_after: None,
            attempt: None,
            classify: None,
            shapes: default_shapes(),
        }
    }
}

/// Fits images, unless built without them.
fn default_shapes() -> Vec<Arc<dyn Shape>> {
    #[cfg(feature = "images")]
    let shapes: Vec<Arc<dyn Shape>> = vec![Arc::new(super::FitImages::default())];
    #[cfg(not(feature = "images"))]
    let shapes = Vec::new();
    shapes
}

impl ChainConfig {
    /// Sets the immediate retries of one target.
    #[must_use]
    pub fn with_retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets whether a bad request or a policy refusal advances to the next target.
    #[must_use]
    pub fn with_advance_on_permanent(mut self, advance_on_permanent: bool) -> Self {
        self.advance_on_permanent = advance_on_permanent;
        self
    }

    /// Sets what happens when every target is benched.
    #[must_use]
    pub fn with_all_benched(mut self, all_benched: AllBenched) -> Self {
        self.all_benched = all_benched;
        self
    }

    /// Sets the timeout of a request over all attempts.
    #[must_use]
    pub fn with_deadline(mut self, deadline: impl Into<Option<Duration>>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// Sets the longest `Retry-After` that a request waits for.
    #[must_use]
    pub fn with_max_retry_after(mut self, max: impl Into<Option<Duration>>) -> Self {
        self.max_retry_after = max.into();
        self
    }

    /// Sets the timeout of one attempt.
    #[must_use]
    pub fn with_attempt(mut self, attempt: impl Into<Option<Duration>>) -> Self {
        self.attempt = attempt.into();
        self
    }

    /// Sets the classification of errors.
    #[must_use]
    pub fn with_classify(
        mut self,
        classify: impl Fn(&Error) -> Class + Send + Sync + 'static,
    ) -> Self {
        self.classify = Some(Arc::new(classify));
        self
    }

    /// Sets the shapes, instead of the one that fits images.
    #[must_use]
    pub fn with_shapes(mut self, shapes: Vec<Arc<dyn Shape>>) -> Self {
        self.shapes = shapes;
        self
    }

    pub(super) fn class_of(&self, error: &Error) -> Class {
        match &self.classify {
            Some(classify) => classify(error),
            None => error.class(),
        }
    }
}

impl fmt::Debug for ChainConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainConfig")
            .field("retries", &self.retries)
            .field("advance_on_permanent", &self.advance_on_permanent)
            .field("all_benched", &self.all_benched)
            .field("deadline", &self.deadline)
            .field("max_retry_after", &self.max_retry_after)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
