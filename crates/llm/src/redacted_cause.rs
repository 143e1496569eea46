//! Causes of errors as text, without keys.

use std::error::Error as StdError;
use std::fmt;

use crate::redact::redact;

/// Longest chain of causes that is kept.
const MAX_CAUSES: usize = 8;

/// A cause and its own causes, as redacted text: a foreign error may print a key or a
/// URL's query.
#[derive(Clone)]
pub(crate) struct RedactedCause {
    text: String,
    next: Option<Box<RedactedCause>>,
}

impl RedactedCause {
    pub(crate) fn new(cause: &dyn StdError) -> Self {
        Self::at(cause, 1)
    }

    fn at(cause: &dyn StdError, depth: usize) -> Self {
        let next = cause.source().filter(|_| depth < MAX_CAUSES);
        Self {
            text: redact(&cause.to_string()),
            next: next.map(|next| Box::new(Self::at(next, depth + 1))),
        }
    }

    /// The cause of this cause.
    pub(crate) fn next(&self) -> Option<&Self> {
        self.next.as_deref()
    }

    /// Whether a text of the chain contains this key.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.text.contains(key) || self.next().is_some_and(|next| next.contains(key))
    }
}

impl fmt::Display for RedactedCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RedactedCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl StdError for RedactedCause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let next = self.next()?;
        Some(next)
    }
}
