//! The switches of a chain.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Class, Error};

use super::{FitImages, Shape};

/// What a chain does when every target that could serve is benched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllBenched {
    /// It asks the one whose bench ends first, once: not while the provider asked to
    /// be left alone, and not with a refused key.
    #[default]
    LeastBad,
    /// It fails at once, as the original did.
    Fail,
}

/// Judges an error in place of [`Error::class`].
pub(crate) type Classify = Arc<dyn Fn(&Error) -> Class + Send + Sync>;

/// How a chain goes from target to target.
///
/// ```
/// use majordomo::ChainConfig;
///
/// let config = ChainConfig { retries: 0, ..ChainConfig::default() };
/// assert!(!config.advance_on_permanent);
/// ```
#[derive(Clone)]
pub struct ChainConfig {
    /// Immediate retries of one target after a transient failure.
    pub retries: u32,
    /// Whether a bad request or a policy stop goes on to the next target.
    pub advance_on_permanent: bool,
    /// What happens when everything is benched.
    pub all_benched: AllBenched,
    /// The longest that a request may take over all attempts, unless the request
    /// says otherwise. It ends streams, too.
    pub deadline: Option<Duration>,
    /// The longest that one attempt may take: a whole answer, or a stream until it
    /// begins to answer. Running out counts against the target like any timer.
    pub attempt: Option<Duration>,
    /// Judges errors in place of the library's own table.
    pub classify: Option<Classify>,
    /// Shapes the request for each target, in this order, at each attempt.
    pub shapes: Vec<Arc<dyn Shape>>,
}

impl Default for ChainConfig {
    fn default() -> Self {
        Self {
            retries: 1,
            advance_on_permanent: false,
            all_benched: AllBenched::default(),
            deadline: None,
            attempt: None,
            classify: None,
            shapes: vec![Arc::new(FitImages::default())],
        }
    }
}

impl ChainConfig {
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
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
