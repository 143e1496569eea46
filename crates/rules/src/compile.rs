//! Compiles conditions and collects every error.

use majordomo::nearest::nearest;
use serde_json::Value;

use super::condition::{Condition, Leaf, Node};
use super::error::{RuleError, RuleField};
use super::excerpt;
use super::positions::{self, Position};
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
    let mut compiler = Compiler::default();
    let condition = compiler.condition(spec);
    condition
        .filter(|_| compiler.errors.is_empty())
        .ok_or(compiler.errors)
}

/// Walks conditions, tracking the current path and the errors found so far.
#[derive(Default)]
pub(super) struct Compiler {
    pub(super) rule: usize,
    pub(super) path: Vec<usize>,
    pub(super) errors: Vec<RuleError>,
}

impl Compiler {
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
        let Some(known) = positions::find(position) else {
            self.unknown_position(position);
            return None;
        };
        let Some(operation) = known.ops.iter().find(|known| known.name == op) else {
            self.unknown_op(known, op);
            return None;
        };
        match (operation.compile)(value) {
            Ok(check) => Some(Leaf {
                position: known.name,
                op: operation.name,
                value: value.map(excerpt::of_value),
                check,
            }),
            Err(bad) => {
                self.fail(RuleField::Value, bad.message, bad.suggestion);
                None
            }
        }
    }

    fn unknown_position(&mut self, position: &str) {
        let names: Vec<&str> = positions::ALL.iter().map(|known| known.name).collect();
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

    fn unknown_op(&mut self, position: &Position, op: &str) {
        let names: Vec<&str> = position.ops.iter().map(|known| known.name).collect();
        let message = format!(
            "unknown operation `{op}` for position `{}`; expected one of {}",
            position.name,
            listed(&names)
        );
        self.fail(
            RuleField::Op,
            message,
            nearest(op, names).map(str::to_owned),
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
