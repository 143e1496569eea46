//! Records why a rule matched or did not.
//!
//! Texts are truncated and redacted; see `excerpt`.

use serde::Serialize;
use serde_json::Value;

use super::RuleIndex;

/// The evaluation of one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace {
    /// The evaluated rules in order; the last one is the match, if any.
    pub rules: Vec<RuleTrace>,
}

/// The evaluation of one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RuleTrace {
    /// Index of the rule.
    pub index: RuleIndex,
    /// Its name.
    pub name: String,
    /// Whether all conditions held.
    pub matched: bool,
    /// Number of evaluated conditions; evaluation stops at the first that fails.
    pub evaluated: usize,
    /// Number of conditions in the rule.
    pub total: usize,
    /// The evaluated conditions.
    pub conditions: Vec<ConditionTrace>,
}

/// The evaluation of one condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ConditionTrace {
    /// One operation.
    Leaf {
        /// The inspected input.
        position: &'static str,
        /// The operation.
        op: &'static str,
        /// The operand.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// The value found.
        actual: String,
        /// Whether it holds.
        matched: bool,
    },
    /// A group of which at least one must hold, up to the first that does.
    Any {
        /// The evaluated members.
        any: Vec<ConditionTrace>,
        /// Whether it holds.
        matched: bool,
    },
    /// A negated condition.
    Not {
        /// The member.
        not: Box<ConditionTrace>,
        /// Whether it holds.
        matched: bool,
    },
}

impl ConditionTrace {
    /// Whether the condition holds.
    pub fn matched(&self) -> bool {
        match self {
            Self::Leaf { matched, .. } | Self::Any { matched, .. } | Self::Not { matched, .. } => {
                *matched
            }
        }
    }
}
