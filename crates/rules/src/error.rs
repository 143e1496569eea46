//! Rule errors, located by rule, path and field so that the caller can report a span.

use std::fmt;

use majordomo::nearest::nearest;

/// The invalid field of a rule or condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleField {
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
    /// The condition that a `not` negates.
    Not,
}

impl RuleField {
    /// The field's name in the configuration.
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

/// One error in one rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct RuleError {
    /// Index of the rule within the route. [`compile`] compiles a single condition
    /// and reports 0.
    ///
    /// [`compile`]: super::compile()
    pub rule: usize,
    /// Path to the condition: its index in `when`, then its index in each nested
    /// `any`; the member of a `not` has index 0. In errors of [`compile`] the path
    /// starts inside the condition. It is empty for the condition itself and for
    /// errors of the whole rule.
    ///
    /// [`compile`]: super::compile()
    pub path: Vec<usize>,
    /// The invalid field.
    pub field: RuleField,
    /// What is wrong and what is expected, without the suggestion.
    pub message: String,
    /// The known name closest to the given one.
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

/// Why a value is invalid for its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidValue {
    pub(super) message: String,
    pub(super) suggestion: Option<String>,
}

impl InvalidValue {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            suggestion: None,
        }
    }

    /// Adds the known name closest to the given one.
    pub(super) fn nearest<'a>(
        mut self,
        written: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.suggestion = nearest(written, known).map(str::to_owned);
        self
    }
}
