//! What a request tells the pool about itself.

use std::time::Instant;

use super::SessionKey;

/// A service's place in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceIndex(u32);

impl ServiceIndex {
    pub(super) fn new(index: usize) -> Self {
        // No configuration has four thousand million services.
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The position in the pool's list.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// One request for a service.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// Which conversation it belongs to, if that is known.
    pub session: Option<SessionKey>,
    /// When.
    pub now: Instant,
    /// Whether somebody only wants to know who would be asked: no turn is taken
    /// and no session is pinned.
    pub preview: bool,
}

impl Pick {
    /// A request of no session.
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

    /// The same request without any effect.
    #[must_use]
    pub fn preview(self) -> Self {
        Self {
            preview: true,
            ..self
        }
    }
}
