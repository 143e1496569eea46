//! Rules as plain data, before compilation.

use serde_json::Value;

/// One smart rule of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSpec {
    /// Display name, shown in traces.
    pub name: String,
    /// Conditions that must all hold.
    pub when: Vec<ConditionSpec>,
    /// Specs of the destinations of a matching request, or of the upstreams of the rule's
    /// processors.
    pub services: Vec<String>,
}

/// One condition or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionSpec {
    /// `{ position, op, value }`.
    Leaf {
        /// The input to inspect, such as `model`.
        position: String,
        /// The operation, such as `contains`.
        op: String,
        /// The operand; tables (for `time` and `header`) are objects.
        value: Option<Value>,
    },
    /// `{ any = [ … ] }`: at least one must hold.
    Any(Vec<ConditionSpec>),
    /// `{ not = { … } }`: the member must not hold.
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

    /// A group of which at least one must hold.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        Self::Any(conditions.into_iter().collect())
    }

    /// Negates a condition.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }
}
