//! Converts conditions of the configuration for the rules crate, and its errors into
//! diagnostics.

use majordomo_rules::{ConditionSpec, RuleError, RuleField};
use serde_json::{Map, Value as Json, json};

use crate::config::{ComparisonEntry, ConditionEntry, ConditionValue, Diagnostic, SmartRule, Span};

/// Converts one condition.
pub(super) fn condition_spec(condition: &ConditionEntry) -> ConditionSpec {
    match condition {
        ConditionEntry::Leaf(leaf) => ConditionSpec::Leaf {
            position: leaf.position.clone(),
            op: op(leaf),
            value: value(leaf),
        },
        ConditionEntry::Any { conditions, .. } => {
            ConditionSpec::Any(conditions.iter().map(condition_spec).collect())
        }
        ConditionEntry::Not { condition, .. } => {
            ConditionSpec::Not(Box::new(condition_spec(condition)))
        }
    }
}

/// `time` has a single operation, which the file omits.
fn op(leaf: &ComparisonEntry) -> String {
    match (leaf.position.as_str(), leaf.op.as_str()) {
        ("time", "") => "time_range".to_owned(),
        (_, op) => op.to_owned(),
    }
}

fn value(leaf: &ComparisonEntry) -> Option<Json> {
    let own = leaf.value.as_ref().map(plain);
    match (&leaf.name, own) {
        (Some(name), Some(value)) => Some(json!({ "name": name, "value": value })),
        (Some(name), None) => Some(json!(name)),
        (None, own) => own,
    }
}

fn plain(value: &ConditionValue) -> Json {
    match value {
        ConditionValue::Text(text) => json!(text),
        ConditionValue::Integer(number) => json!(number),
        ConditionValue::Decimal(number) => json!(number),
        ConditionValue::Flag(flag) => json!(flag),
        ConditionValue::List(list) => Json::Array(list.iter().map(plain).collect()),
        ConditionValue::Table(fields) => {
            let fields = fields.iter();
            let fields: Map<String, Json> = fields.map(|(k, v)| (k.clone(), plain(v))).collect();
            Json::Object(fields)
        }
    }
}

/// Converts a rule's error into a diagnostic at its position.
pub(super) fn rule_diagnostic(rules: &[SmartRule], error: &RuleError) -> Diagnostic {
    let span = rules
        .get(error.rule)
        .map_or(0..0, |rule| error_span(rule, &error.path, error.field));
    let hint = match &error.suggestion {
        Some(suggestion) => format!("did you mean `{suggestion}`?"),
        None => "see the guide's page on rules".to_owned(),
    };
    Diagnostic::at(span, error.message.clone(), hint)
}

fn error_span(rule: &SmartRule, path: &[usize], field: RuleField) -> Span {
    let Some((first, rest)) = path.split_first() else {
        return rule.span.clone();
    };
    let mut found = rule.when.get(*first);
    for step in rest {
        found = match found {
            Some(ConditionEntry::Any { conditions, .. }) => conditions.get(*step),
            Some(ConditionEntry::Not { condition, .. }) => Some(condition),
            _ => None,
        };
    }
    match (found, field) {
        (Some(ConditionEntry::Leaf(leaf)), RuleField::Value) => leaf.value_span.clone(),
        (Some(condition), _) => condition.span().clone(),
        (None, _) => rule.span.clone(),
    }
}
