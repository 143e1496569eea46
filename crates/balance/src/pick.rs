//! The input of a pick.

use std::time::Instant;

use super::SessionKey;

/// Index of a service in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceIndex(u32);

impl ServiceIndex {
    pub(super) fn new(index: usize) -> Self {
        // No configuration has four billion services.
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The index as a number.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// One request for a service.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Pick {
    /// The session, if known.
    pub session: Option<SessionKey>,
    /// The current time.
    pub now: Instant,
    /// Whether the pick has no effect: it takes no turn and pins no session.
    pub preview: bool,
}

impl Pick {
    /// A request without a session.
    pub fn at(now: Instant) -> Self {
        Self {
            session: None,
            now,
            preview: false,
        }
    }

    /// The same request as part of a session.
    #[must_use]
    pub fn of(self, session: impl Into<Option<SessionKey>>) -> Self {
        Self {
            session: session.into(),
            ..self
        }
    }

    /// The same request without side effects.
    #[must_use]
    pub fn preview(self) -> Self {
        Self {
            preview: true,
            ..self
        }
    }
}
