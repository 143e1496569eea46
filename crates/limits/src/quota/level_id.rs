//! Names of levels.

use std::fmt;
use std::sync::Arc;

/// The subjects of limits, from everyone to one end user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LevelKind {
    /// All clients together.
    Global,
    /// A team.
    Team,
    /// A client's key.
    Key,
    /// An end user whom a client names.
    EndUser,
}

impl LevelKind {
    /// The kind as one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Team => "team",
            Self::Key => "key",
            Self::EndUser => "end user",
        }
    }
}

/// A level: its kind and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelId {
    /// The kind.
    pub kind: LevelKind,
    /// The name; empty for everyone.
    pub name: Arc<str>,
}

impl LevelId {
    /// A level.
    pub fn new(kind: LevelKind, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        Self { kind, name }
    }

    /// The name under which budgets are stored, such as `key/laptop`.
    pub(crate) fn path(&self) -> String {
        match self.kind {
            LevelKind::Global => "global".to_owned(),
            LevelKind::Team => format!("team/{}", self.name),
            LevelKind::Key => format!("key/{}", self.name),
            LevelKind::EndUser => format!("user/{}", self.name),
        }
    }
}

/// Formats as part of a sentence: the key `laptop`.
impl fmt::Display for LevelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            LevelKind::Global => f.write_str("the gateway"),
            kind => write!(f, "the {} `{}`", kind.name(), self.name),
        }
    }
}
