//! A route's smart rules in order: the first whose conditions all hold wins.

use std::sync::Arc;

use serde::Serialize;

use super::Subject;
use super::compile::Compiler;
use super::condition::{Condition, Leaf};
use super::error::{RuleError, RuleField};
use super::notes::Notes;
use super::processor::Processors;
use super::spec::RuleSpec;
use super::trace::{RuleTrace, Trace};

/// Index of a rule within its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RuleIndex(pub usize);

/// The compiled rules of one route.
#[derive(Debug, Default)]
pub struct RuleSet {
    /// Shared with [`Notes`], which may outlive the configuration.
    rules: Arc<[Rule]>,
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) when: Vec<Condition>,
}

/// The rule that matched, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The first rule whose conditions all held.
    pub matched: Option<RuleIndex>,
    /// The evaluated rules and conditions.
    pub trace: Trace,
}

impl RuleSet {
    /// Compiles a route's rules or returns every error in any of them.
    pub fn compile(specs: Vec<RuleSpec>) -> Result<Self, Vec<RuleError>> {
        Self::compile_with(specs, &Processors::default())
    }

    /// Like [`compile`](Self::compile), with operations of processors.
    pub fn compile_with(
        specs: Vec<RuleSpec>,
        processors: &Processors,
    ) -> Result<Self, Vec<RuleError>> {
        let mut compiler = Compiler::new(processors);
        let mut rules = Vec::with_capacity(specs.len());
        for (index, spec) in specs.into_iter().enumerate() {
            compiler.rule = index;
            if spec.name.trim().is_empty() {
                compiler.fail(RuleField::Name, "the rule needs a name for its trace", None);
            }
            if spec.services.is_empty() {
                compiler.fail(
                    RuleField::Services,
                    "at least one service is required",
                    None,
                );
            }
            let when = compiler.members(&spec.when, RuleField::When);
            rules.push(Rule {
                name: spec.name,
                when: when.unwrap_or_default(),
            });
        }
        if compiler.errors.is_empty() {
            Ok(Self {
                rules: rules.into(),
            })
        } else {
            Err(compiler.errors)
        }
    }

    /// Returns the first rule whose conditions all hold.
    pub fn evaluate(&self, subject: &Subject<'_>) -> Option<RuleIndex> {
        self.indexed()
            .find(|(index, rule)| rule.when.iter().all(|c| c.holds(subject, *index)))
            .map(|(index, _)| index)
    }

    /// Like [`evaluate`](Self::evaluate), with a full trace.
    pub fn explain(&self, subject: &Subject<'_>) -> Verdict {
        let mut trace = Trace::default();
        for (index, rule) in self.indexed() {
            let looked_at = rule.explain(subject, index);
            let matched = looked_at.matched;
            trace.rules.push(looked_at);
            if matched {
                return Verdict {
                    matched: Some(index),
                    trace,
                };
            }
        }
        Verdict {
            matched: None,
            trace,
        }
    }

    /// Like [`evaluate`](Self::evaluate), with notes: cheap enough for every request,
    /// and expanded to a trace on demand.
    pub fn evaluate_with_notes(&self, subject: &Subject<'_>) -> (Option<RuleIndex>, Notes) {
        let mut notes = Notes::of(Arc::clone(&self.rules));
        let matched = self.indexed().find(|(index, rule)| {
            let mut conditions = rule.when.iter();
            conditions.all(|condition| notes.evaluate(condition, subject, *index))
        });
        (matched.map(|(index, _)| index), notes)
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether the set has no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The name of a rule; empty for an index of another set.
    pub fn name(&self, rule: RuleIndex) -> &str {
        self.rules
            .get(rule.0)
            .map(|rule| rule.name.as_str())
            .unwrap_or_default()
    }

    /// The operations of a rule that can make it match, in order.
    pub(super) fn operations(&self, rule: RuleIndex) -> Vec<&Leaf> {
        let mut found = Vec::new();
        let conditions = self.rules.get(rule.0).map(|rule| &rule.when);
        for condition in conditions.into_iter().flatten() {
            condition.operations(&mut found);
        }
        found
    }

    fn indexed(&self) -> impl Iterator<Item = (RuleIndex, &Rule)> {
        let rules = self.rules.iter().enumerate();
        rules.map(|(index, rule)| (RuleIndex(index), rule))
    }
}

impl Rule {
    fn explain(&self, subject: &Subject<'_>, index: RuleIndex) -> RuleTrace {
        let mut conditions = Vec::new();
        let mut matched = true;
        for condition in &self.when {
            let looked_at = condition.explain(subject, index);
            matched = looked_at.matched();
            conditions.push(looked_at);
            if !matched {
                break;
            }
        }
        RuleTrace {
            index,
            name: self.name.clone(),
            matched,
            evaluated: conditions.len(),
            total: self.when.len(),
            conditions,
        }
    }
}
