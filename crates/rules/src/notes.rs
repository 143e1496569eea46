//! What was looked at for one request, in short.
//!
//! Notes are made for every request, so they hold what cannot be found out later
//! and no more: each verdict in its turn, and what was found where that is not
//! something that the client said. The rules themselves say the rest, when
//! somebody asks for the trace.

use std::sync::Arc;

use super::condition::{Condition, Leaf, Node};
use super::rule_set::Rule;
use super::trace::{ConditionTrace, RuleTrace, Trace};
use super::{RuleIndex, Subject, excerpt};

/// In the place of what the client said.
const NOT_KEPT: &str = "(not kept)";

/// The notes on one request.
#[derive(Debug)]
pub struct Notes {
    rules: Arc<[Rule]>,
    /// One for each operation that was looked at, in order.
    seen: Vec<(bool, Note)>,
}

/// What an operation found.
#[derive(Debug)]
pub(super) enum Note {
    Number(u64),
    /// Cut and without keys only when it is shown.
    Text(Box<str>),
    /// Something that the client said.
    NotKept,
}

impl Notes {
    pub(super) fn of(rules: Arc<[Rule]>) -> Self {
        let seen = Vec::with_capacity(rules.len());
        Self { rules, seen }
    }

    /// Looks at a condition as [`Condition::holds`] does, and writes it down.
    pub(super) fn look(
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
                members.any(|member| self.look(member, subject, rule))
            }
            Node::Not(member) => !self.look(member, subject, rule),
        }
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        let texts = self.seen.iter().map(|(_, note)| match note {
            Note::Text(text) => text.len(),
            Note::Number(_) | Note::NotKept => 0,
        });
        texts.sum::<usize>() + self.seen.capacity() * size_of::<(bool, Note)>()
    }

    /// What was looked at, written out. It quotes nothing that the client said.
    pub fn trace(&self) -> Trace {
        let mut seen = self.seen.iter();
        let mut trace = Trace::default();
        for (index, rule) in self.rules.iter().enumerate() {
            if seen.as_slice().is_empty() {
                break;
            }
            let mut conditions = Vec::new();
            for condition in &rule.when {
                let Some(told) = told(condition, &mut seen) else {
                    break;
                };
                let matched = told.matched();
                conditions.push(told);
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

/// The next condition, told from what was seen of it.
fn told<'a>(
    condition: &Condition,
    seen: &mut impl Iterator<Item = &'a (bool, Note)>,
) -> Option<ConditionTrace> {
    match &condition.0 {
        Node::Leaf(leaf) => {
            let (matched, note) = seen.next()?;
            Some(told_leaf(leaf, *matched, note))
        }
        Node::Any(members) => {
            let mut any = Vec::new();
            for member in members {
                any.push(told(member, seen)?);
                if any.last().is_some_and(ConditionTrace::matched) {
                    break;
                }
            }
            let matched = any.last().is_some_and(ConditionTrace::matched);
            Some(ConditionTrace::Any { any, matched })
        }
        Node::Not(member) => {
            let not = Box::new(told(member, seen)?);
            let matched = !not.matched();
            Some(ConditionTrace::Not { not, matched })
        }
    }
}

fn told_leaf(leaf: &Leaf, matched: bool, note: &Note) -> ConditionTrace {
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
