//! Rules of the file as the rules room takes them, and its mistakes as the file's.

use majordomo_rules::{ConditionSpec, RuleError, RuleField};
use serde_json::{Map, Value as Json, json};

use crate::config::{Condition, Leaf, Problem, SmartRule, Span, Value};

/// A condition of the file, as plain data.
pub(super) fn spec(condition: &Condition) -> ConditionSpec {
    match condition {
        Condition::Leaf(leaf) => ConditionSpec::Leaf {
            position: leaf.position.clone(),
            op: op(leaf),
            value: value(leaf),
        },
        Condition::Any { conditions, .. } => {
            ConditionSpec::Any(conditions.iter().map(spec).collect())
        }
        Condition::Not { condition, .. } => ConditionSpec::Not(Box::new(spec(condition))),
    }
}

/// `time` has one operation, which nobody writes.
fn op(leaf: &Leaf) -> String {
    match (leaf.position.as_str(), leaf.op.as_str()) {
        ("time", "") => "time_range".to_owned(),
        (_, op) => op.to_owned(),
    }
}

fn value(leaf: &Leaf) -> Option<Json> {
    let own = leaf.value.as_ref().map(plain);
    match (&leaf.name, own) {
        (Some(name), Some(value)) => Some(json!({ "name": name, "value": value })),
        (Some(name), None) => Some(json!(name)),
        (None, own) => own,
    }
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text),
        Value::Integer(number) => json!(number),
        Value::Decimal(number) => json!(number),
        Value::Flag(flag) => json!(flag),
        Value::List(list) => Json::Array(list.iter().map(plain).collect()),
        Value::Table(fields) => {
            let fields = fields.iter();
            let fields: Map<String, Json> = fields.map(|(k, v)| (k.clone(), plain(v))).collect();
            Json::Object(fields)
        }
    }
}

/// A mistake of a rule, at its place in the file.
pub(super) fn problem(rules: &[SmartRule], error: &RuleError) -> Problem {
    let span = rules
        .get(error.rule)
        .map_or(0..0, |rule| place(rule, &error.path, error.field));
    let hint = match &error.suggestion {
        Some(suggestion) => format!("did you mean `{suggestion}`?"),
        None => "see the guide's page on rules".to_owned(),
    };
    Problem::at(span, error.message.clone(), hint)
}

fn place(rule: &SmartRule, path: &[usize], field: RuleField) -> Span {
    let Some((first, rest)) = path.split_first() else {
        return rule.span.clone();
    };
    let mut found = rule.when.get(*first);
    for step in rest {
        found = match found {
            Some(Condition::Any { conditions, .. }) => conditions.get(*step),
            Some(Condition::Not { condition, .. }) => Some(condition),
            _ => None,
        };
    }
    match (found, field) {
        (Some(Condition::Leaf(leaf)), RuleField::Value) => leaf.value_span.clone(),
        (Some(condition), _) => condition.span().clone(),
        (None, _) => rule.span.clone(),
    }
}
