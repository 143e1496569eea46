//! A compact record of one evaluation.
//!
//! Notes are taken for every request, so they hold only what cannot be recomputed:
//! each verdict in order, and the value found unless it is client content. A full
//! trace is built from the rules on demand.

use std::sync::Arc;

use super::condition::{Condition, Leaf, Node};
use super::rule_set::Rule;
use super::trace::{ConditionTrace, RuleTrace, Trace};
use super::{RuleIndex, Subject, excerpt};

/// Replaces client content.
const NOT_KEPT: &str = "(not kept)";

/// Notes on the evaluation of one request.
#[derive(Debug)]
pub struct Notes {
    rules: Arc<[Rule]>,
    /// One entry per evaluated operation, in order.
    seen: Vec<(bool, Note)>,
}

/// The value an operation found.
#[derive(Debug)]
pub(super) enum Note {
    Number(u64),
    /// Truncated and redacted only when shown.
    Text(Box<str>),
    /// Client content.
    NotKept,
}

impl Notes {
    pub(super) fn of(rules: Arc<[Rule]>) -> Self {
        let seen = Vec::with_capacity(rules.len());
        Self { rules, seen }
    }

    /// Evaluates a condition like [`Condition::holds`] and records each verdict.
    pub(super) fn evaluate(
        &mut self,
        condition: &Condition,
        subject: &Subject<'_>,
        rule: RuleIndex,
    ) -> bool {
        match &condition.0 {
            Node::Leaf(leaf) => {
                let held = leaf.check.holds(subject, rule);
                self.seen.push((held, leaf.check.note(subject, rule)));
                held
            }
            Node::Any(members) => {
                let mut members = members.iter();
                members.any(|member| self.evaluate(member, subject, rule))
            }
            Node::Not(member) => !self.evaluate(member, subject, rule),
        }
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        let texts = self.seen.iter().map(|(_, note)| match note {
            Note::Text(text) => text.len(),
            Note::Number(_) | Note::NotKept => 0,
        });
        texts.sum::<usize>() + self.seen.capacity() * size_of::<(bool, Note)>()
    }

    /// The full trace, without client content.
    pub fn trace(&self) -> Trace {
        let mut seen = self.seen.iter();
        let mut trace = Trace::default();
        for (index, rule) in self.rules.iter().enumerate() {
            if seen.as_slice().is_empty() {
                break;
            }
            let mut conditions = Vec::new();
            for condition in &rule.when {
                let Some(trace) = condition_trace(condition, &mut seen) else {
                    break;
                };
                let matched = trace.matched();
                conditions.push(trace);
                if !matched {
                    break;
                }
            }
            trace.rules.push(RuleTrace {
                index: RuleIndex(index),
                name: rule.name.clone(),
                matched: conditions.iter().all(ConditionTrace::matched),
                evaluated: conditions.len(),
                total: rule.when.len(),
                conditions,
            });
        }
        trace
    }
}

/// Rebuilds the trace of the next condition from the recorded verdicts.
fn condition_trace<'a>(
    condition: &Condition,
    seen: &mut impl Iterator<Item = &'a (bool, Note)>,
) -> Option<ConditionTrace> {
    match &condition.0 {
        Node::Leaf(leaf) => {
            let (matched, note) = seen.next()?;
            Some(leaf_trace(leaf, *matched, note))
        }
        Node::Any(members) => {
            let mut any = Vec::new();
            for member in members {
                any.push(condition_trace(member, seen)?);
                if any.last().is_some_and(ConditionTrace::matched) {
                    break;
                }
            }
            let matched = any.last().is_some_and(ConditionTrace::matched);
            Some(ConditionTrace::Any { any, matched })
        }
        Node::Not(member) => {
            let not = Box::new(condition_trace(member, seen)?);
            let matched = !not.matched();
            Some(ConditionTrace::Not { not, matched })
        }
    }
}

fn leaf_trace(leaf: &Leaf, matched: bool, note: &Note) -> ConditionTrace {
    ConditionTrace::Leaf {
        position: leaf.position,
        op: leaf.op,
        value: leaf.value.clone(),
        actual: match note {
            Note::Number(number) => number.to_string(),
            Note::Text(text) => excerpt::head(text),
            Note::NotKept => NOT_KEPT.to_owned(),
        },
        matched,
    }
}
