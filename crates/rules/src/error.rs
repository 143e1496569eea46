//! What is wrong with a rule, and where, so that whoever knows the file can point at it.

use std::fmt;

use majordomo::nearest;

/// The field of a rule or condition that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// The rule's `name`.
    Name,
    /// The rule's `when`, as a whole.
    When,
    /// The rule's `services`.
    Services,
    /// A condition's `position`.
    Position,
    /// A condition's `op`.
    Op,
    /// A condition's `value`.
    Value,
    /// The list of an `any` group.
    Any,
    /// What a `not` turns around.
    Not,
}

impl Field {
    /// The field's name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::When => "when",
            Self::Services => "services",
            Self::Position => "position",
            Self::Op => "op",
            Self::Value => "value",
            Self::Any => "any",
            Self::Not => "not",
        }
    }
}

/// One mistake in one rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct RuleError {
    /// Which rule of the route, counted from 0. [`compile`] looks at a single
    /// condition and says 0.
    ///
    /// [`compile`]: super::compile()
    pub rule: usize,
    /// The way to the condition: its index in `when`, then the index in each
    /// `any` on the way down; a `not` has one member, at 0. [`compile`] looks at
    /// a single condition, so there the way begins inside it; it is empty for
    /// the condition itself and for mistakes of the whole rule.
    ///
    /// [`compile`]: super::compile()
    pub path: Vec<usize>,
    /// The field that is wrong.
    pub field: Field,
    /// What is wrong and what to write, in a sentence without the suggestion.
    pub message: String,
    /// The known word that is nearest to what was written.
    pub suggestion: Option<String>,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(word) => write!(f, "; did you mean `{word}`?"),
            None => Ok(()),
        }
    }
}

/// Why a value does not fit its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadValue {
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
}

impl BadValue {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            suggestion: None,
        }
    }

    /// Adds the known word that is nearest to the one that was written.
    pub(super) fn nearest<'a>(
        mut self,
        written: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.suggestion = nearest(written, known).map(str::to_owned);
        self
    }
}
