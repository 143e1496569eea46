//! Why a rule matched or did not, in a form that can be kept and shown.
//!
//! Texts are bounded and without keys; see `excerpt`.

use serde::Serialize;
use serde_json::Value;

use super::RuleIndex;

/// What was looked at for one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace {
    /// The rules that were looked at, in order; none after the one that matched.
    pub rules: Vec<RuleTrace>,
}

/// What was looked at in one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleTrace {
    /// Which rule of the route.
    pub index: RuleIndex,
    /// Its name.
    pub name: String,
    /// Whether all its conditions held.
    pub matched: bool,
    /// How many conditions were looked at; the rest could not change anything.
    pub evaluated: usize,
    /// How many conditions there are.
    pub total: usize,
    /// Those that were looked at.
    pub conditions: Vec<ConditionTrace>,
}

/// What was looked at in one condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ConditionTrace {
    /// One operation.
    Leaf {
        /// What was looked at.
        position: &'static str,
        /// How it was judged.
        op: &'static str,
        /// What it was compared with.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        /// What was found.
        actual: String,
        /// The verdict.
        matched: bool,
    },
    /// A group of which one must hold, up to the first that does.
    Any {
        /// The members that were looked at.
        any: Vec<ConditionTrace>,
        /// The verdict.
        matched: bool,
    },
    /// The opposite of a condition.
    Not {
        /// The condition.
        not: Box<ConditionTrace>,
        /// The verdict.
        matched: bool,
    },
}

impl ConditionTrace {
    /// The verdict.
    pub fn matched(&self) -> bool {
        match self {
            Self::Leaf { matched, .. } | Self::Any { matched, .. } | Self::Not { matched, .. } => {
                *matched
            }
        }
    }
}
