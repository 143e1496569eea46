//! A compiled condition: one operation or a group.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::positions::Check;
use super::processor::Processor;
use super::trace::ConditionTrace;
use super::{RuleIndex, Subject};

/// A compiled condition.
#[derive(Debug)]
pub struct Condition(pub(super) Node);

#[derive(Debug)]
pub(super) enum Node {
    Leaf(Leaf),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

pub(super) struct Leaf {
    pub(super) position: &'static str,
    pub(super) op: &'static str,
    /// As configured, truncated for the trace.
    pub(super) value: Option<Value>,
    pub(super) check: Box<dyn Check>,
    /// The processor to run on a matching request, if the operation has one.
    pub(super) bound: Option<BoundProcessor>,
}

/// A processor and the value of its condition.
pub(super) struct BoundProcessor {
    pub(super) processor: Arc<dyn Processor>,
    pub(super) value: Option<Value>,
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} {:?}", self.position, self.op, self.check)
    }
}

impl Condition {
    /// Evaluates the condition; service metrics are those of `rule`.
    pub fn holds(&self, subject: &Subject<'_>, rule: RuleIndex) -> bool {
        match &self.0 {
            Node::Leaf(leaf) => leaf.check.holds(subject, rule),
            Node::Any(members) => members.iter().any(|member| member.holds(subject, rule)),
            Node::Not(member) => !member.holds(subject, rule),
        }
    }

    /// Evaluates the condition and records why.
    pub fn explain(&self, subject: &Subject<'_>, rule: RuleIndex) -> ConditionTrace {
        match &self.0 {
            Node::Leaf(leaf) => ConditionTrace::Leaf {
                position: leaf.position,
                op: leaf.op,
                value: leaf.value.clone(),
                actual: leaf.check.actual(subject, rule),
                matched: leaf.check.holds(subject, rule),
            },
            Node::Any(members) => {
                let mut any = Vec::new();
                for member in members {
                    any.push(member.explain(subject, rule));
                    if any.last().is_some_and(ConditionTrace::matched) {
                        break;
                    }
                }
                let matched = any.last().is_some_and(ConditionTrace::matched);
                ConditionTrace::Any { any, matched }
            }
            Node::Not(member) => {
                let not = Box::new(member.explain(subject, rule));
                let matched = !not.matched();
                ConditionTrace::Not { not, matched }
            }
        }
    }

    /// The operations that can make the condition hold, in order; those under a `not`
    /// are excluded.
    pub(super) fn operations<'a>(&'a self, found: &mut Vec<&'a Leaf>) {
        match &self.0 {
            Node::Leaf(leaf) => found.push(leaf),
            Node::Any(members) => members.iter().for_each(|m| m.operations(found)),
            Node::Not(_) => {}
        }
    }
}
