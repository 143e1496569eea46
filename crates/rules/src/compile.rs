//! Compiles conditions and collects every error.

use std::sync::Arc;

use majordomo::nearest::nearest;
use serde_json::Value;

use super::condition::{BoundProcessor, Condition, Leaf, Node};
use super::error::{RuleError, RuleField};
use super::excerpt;
use super::positions::{self, Op, Position, processed};
use super::processor::Processors;
use super::spec::ConditionSpec;
use super::value::listed;

/// Deepest accepted nesting of groups.
const MAX_DEPTH: usize = 16;

/// Compiles one condition or returns every error in it.
///
/// ```
/// use majordomo_rules::{ConditionSpec, RuleField, compile};
/// use serde_json::json;
///
/// let errors = compile(&ConditionSpec::leaf("modle", "contains", json!("gpt"))).unwrap_err();
/// assert_eq!(errors[0].field, RuleField::Position);
/// assert_eq!(errors[0].suggestion.as_deref(), Some("model"));
/// ```
pub fn compile(spec: &ConditionSpec) -> Result<Condition, Vec<RuleError>> {
    compile_with(spec, &Processors::default())
}

/// Like [`compile`], with operations of processors.
pub fn compile_with(
    spec: &ConditionSpec,
    processors: &Processors,
) -> Result<Condition, Vec<RuleError>> {
    let mut compiler = Compiler::new(processors);
    let condition = compiler.condition(spec);
    condition
        .filter(|_| compiler.errors.is_empty())
        .ok_or(compiler.errors)
}

/// Walks conditions, tracking the current path and the errors found so far.
pub(super) struct Compiler<'p> {
    processors: &'p Processors,
    pub(super) rule: usize,
    pub(super) path: Vec<usize>,
    pub(super) errors: Vec<RuleError>,
}

impl<'p> Compiler<'p> {
    pub(super) fn new(processors: &'p Processors) -> Self {
        Self {
            processors,
            rule: 0,
            path: Vec::new(),
            errors: Vec::new(),
        }
    }

    pub(super) fn condition(&mut self, spec: &ConditionSpec) -> Option<Condition> {
        let node = match spec {
            ConditionSpec::Leaf {
                position,
                op,
                value,
            } => Node::Leaf(self.leaf(position, op, value.as_ref())?),
            ConditionSpec::Any(members) => {
                self.check_depth(RuleField::Any)?;
                Node::Any(self.members(members, RuleField::Any)?)
            }
            ConditionSpec::Not(member) => {
                self.check_depth(RuleField::Not)?;
                Node::Not(Box::new(self.member(0, member)?))
            }
        };
        Some(Condition(node))
    }

    /// Compiles all members, even after one has failed.
    pub(super) fn members(
        &mut self,
        members: &[ConditionSpec],
        field: RuleField,
    ) -> Option<Vec<Condition>> {
        if members.is_empty() {
            self.fail(field, "at least one condition is required", None);
            return None;
        }
        let mut compiled = Vec::with_capacity(members.len());
        for (index, member) in members.iter().enumerate() {
            compiled.extend(self.member(index, member));
        }
        (compiled.len() == members.len()).then_some(compiled)
    }

    fn member(&mut self, index: usize, member: &ConditionSpec) -> Option<Condition> {
        self.path.push(index);
        let condition = self.condition(member);
        self.path.pop();
        condition
    }

    fn leaf(&mut self, position: &str, op: &str, value: Option<&Value>) -> Option<Leaf> {
        let (position, op, compiled, bound) = match self.processors.get(position, op) {
            Some(processor) => (
                processor.position(),
                processor.op(),
                processed::compile(processor, value),
                Some(BoundProcessor {
                    processor: Arc::clone(processor),
                    value: value.cloned(),
                }),
            ),
            None => {
                let (position, op) = self.find(position, op)?;
                (position.name, op.name, (op.compile)(value), None)
            }
        };
        match compiled {
            Ok(check) => Some(Leaf {
                position,
                op,
                value: value.map(excerpt::of_value),
                check,
                bound,
            }),
            Err(bad) => {
                self.fail(RuleField::Value, bad.message, bad.suggestion);
                None
            }
        }
    }

    /// An operation of this crate; reports unknown names.
    fn find(&mut self, position: &str, op: &str) -> Option<(&'static Position, &'static Op)> {
        let known = positions::find(position);
        let operation = known.and_then(|known| known.ops.iter().find(|known| known.name == op));
        if let (Some(known), Some(operation)) = (known, operation) {
            return Some((known, operation));
        }
        let own = known
            .into_iter()
            .flat_map(|known| known.ops.iter().map(|op| op.name));
        let registered = self.processors.operations();
        let registered = registered.filter(|(known, _)| *known == position);
        let ops: Vec<&str> = own.chain(registered.map(|(_, op)| op)).collect();
        match ops.is_empty() {
            true => self.unknown_position(position),
            false => self.unknown_op(position, op, ops),
        }
        None
    }

    fn unknown_position(&mut self, position: &str) {
        let own = positions::ALL.iter().map(|known| known.name);
        let registered = self.processors.operations().map(|(position, _)| position);
        let mut names: Vec<&str> = own.collect();
        for name in registered {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let message = format!(
            "unknown position `{position}`; expected one of {}",
            listed(&names)
        );
        self.fail(
            RuleField::Position,
            message,
            nearest(position, names).map(str::to_owned),
        );
    }

    fn unknown_op(&mut self, position: &str, op: &str, known: Vec<&str>) {
        let message = format!(
            "unknown operation `{op}` for position `{position}`; expected one of {}",
            listed(&known)
        );
        self.fail(
            RuleField::Op,
            message,
            nearest(op, known).map(str::to_owned),
        );
    }

    fn check_depth(&mut self, field: RuleField) -> Option<()> {
        if self.path.len() < MAX_DEPTH {
            return Some(());
        }
        self.fail(
            field,
            format!("groups are nested more than {MAX_DEPTH} levels deep"),
            None,
        );
        None
    }

    pub(super) fn fail(
        &mut self,
        field: RuleField,
        message: impl Into<String>,
        suggestion: Option<String>,
    ) {
        self.errors.push(RuleError {
            rule: self.rule,
            path: self.path.clone(),
            field,
            message: message.into(),
            suggestion,
        });
    }
}
