//! Rules as plain data: what the configuration says, before it is understood.

use serde_json::Value;

/// One smart rule of a route. `S` is whatever stands for a service.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSpec<S> {
    /// What people call it; traces show it.
    pub name: String,
    /// All of these must hold.
    pub when: Vec<ConditionSpec>,
    /// Where a matching request goes, or whom the rule's processors may ask.
    pub services: Vec<S>,
}

/// One condition, or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionSpec {
    /// `{ position, op, value }`.
    Leaf {
        /// What is looked at, `model` say.
        position: String,
        /// How it is judged, `contains` say.
        op: String,
        /// What it is compared with; tables (for `time` and `header`) are objects.
        value: Option<Value>,
    },
    /// `{ any = [ … ] }`: one of these must hold.
    Any(Vec<ConditionSpec>),
    /// `{ not = { … } }`: this must not hold.
    Not(Box<ConditionSpec>),
}

impl ConditionSpec {
    /// A condition with a value.
    pub fn leaf(
        position: impl Into<String>,
        op: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        Self::Leaf {
            position: position.into(),
            op: op.into(),
            value: Some(value.into()),
        }
    }

    /// A condition without a value.
    pub fn bare(position: impl Into<String>, op: impl Into<String>) -> Self {
        Self::Leaf {
            position: position.into(),
            op: op.into(),
            value: None,
        }
    }

    /// A group of which one must hold.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::Any(conditions.into_iter().collect())
    }

    /// The opposite of a condition.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }
}
