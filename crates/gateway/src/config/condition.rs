//! Conditions of smart rules as plain data; `routes` compiles them.

use toml::de::DeValue;

use super::Span;
use super::reader::{ConfigField, Section};

/// A condition, or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionEntry {
    /// A single comparison.
    Leaf(ComparisonEntry),
    /// Matches if any member matches.
    Any {
        /// The members.
        conditions: Vec<ConditionEntry>,
        /// Position in the file.
        span: Span,
    },
    /// Matches if its member does not.
    Not {
        /// The member.
        condition: Box<ConditionEntry>,
        /// Position in the file.
        span: Span,
    },
}

/// Compares one property of the request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparisonEntry {
    /// The property: `token`, `header`, …
    pub position: String,
    /// Selects one of several, such as a header's name.
    pub name: Option<String>,
    /// The operator; empty if omitted.
    pub op: String,
    /// The operand.
    pub value: Option<ConditionValue>,
    /// Position of the condition.
    pub span: Span,
    /// Position of its value, or of the whole condition if it has none.
    pub value_span: Span,
}

/// A value from the file.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionValue {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Decimal(f64),
    /// A boolean.
    Flag(bool),
    /// A list.
    List(Vec<ConditionValue>),
    /// A table in file order, such as the hours of `time`.
    Table(Vec<(String, ConditionValue)>),
}

impl ConditionEntry {
    /// Position in the file.
    pub fn span(&self) -> &Span {
        match self {
            Self::Leaf(leaf) => &leaf.span,
            Self::Any { span, .. } | Self::Not { span, .. } => span,
        }
    }
}

/// Maximum nesting depth of groups.
const MAX_DEPTH: usize = 8;

/// Reads `when = [ … ]`.
pub(super) fn read_conditions(field: &ConfigField<'_>) -> Option<Vec<ConditionEntry>> {
    let items = field.items()?;
    Some(items.iter().filter_map(|item| read(item, 0)).collect())
}

fn read(field: &ConfigField<'_>, depth: usize) -> Option<ConditionEntry> {
    if depth > MAX_DEPTH {
        field.report(
            format!("conditions are nested more than {MAX_DEPTH} levels deep"),
            "write several smart rules instead",
        );
        return None;
    }
    let mut section = field.section("a condition")?;
    section.span = field.span.clone();
    let any = section.take("any");
    let not = section.take("not");
    let leaf = leaf(&mut section, any.is_some() || not.is_some());
    let span = section.span.clone();
    section.finish();
    match (any, not) {
        (Some(_), Some(not)) => {
            let hint = "write two conditions; all conditions in `when` must match";
            not.report("a condition has either `any` or `not`, not both", hint);
            None
        }
        (Some(any), None) => {
            let items = any.items()?;
            if items.is_empty() {
                any.report("an empty `any` never matches", "add conditions to it");
                return None;
            }
            let conditions = items.iter().filter_map(|item| read(item, depth + 1));
            Some(ConditionEntry::Any {
                conditions: conditions.collect(),
                span,
            })
        }
        (None, Some(not)) => Some(ConditionEntry::Not {
            condition: Box::new(read(&not, depth + 1)?),
            span,
        }),
        (None, None) => leaf.map(ConditionEntry::Leaf),
    }
}

fn leaf(section: &mut Section<'_>, is_group: bool) -> Option<ComparisonEntry> {
    let position = section.take("position");
    let op = section.take("op");
    let name = section.take("name");
    let value = section.take("value");
    if is_group {
        for field in [position, op, name, value].into_iter().flatten() {
            let hint = "a group contains complete conditions: `{ any = [ { position = … }, … ] }`";
            section.reader.report(
                field.key_span.clone(),
                format!("a group cannot have `{}`", field.key),
                hint,
            );
        }
        return None;
    }
    let Some(position) = position else {
        section.reader.report(
            section.span.clone(),
            "the condition has no `position`",
            "name what to inspect: `{ position = \"token\", op = \"ge\", value = 60000 }`",
        );
        return None;
    };
    let position = position.non_empty()?;
    if op.is_none() && position.value != "time" {
        section.reader.report(
            section.span.clone(),
            format!("the condition on {} has no `op`", position.shown()),
            "specify the comparison, such as `op = \"contains\"` or `op = \"ge\"`",
        );
        return None;
    }
    let op = match op {
        Some(field) => field.non_empty()?.value,
        None => String::new(),
    };
    Some(ComparisonEntry {
        position: position.value,
        name: name
            .and_then(|field| field.non_empty())
            .map(|text| text.value),
        op,
        value_span: value
            .as_ref()
            .map_or(section.span.clone(), |field| field.span.clone()),
        value: match value {
            Some(field) => Some(read_value(&field)?),
            None => None,
        },
        span: section.span.clone(),
    })
}

fn read_value(field: &ConfigField<'_>) -> Option<ConditionValue> {
    Some(match field.value {
        DeValue::String(_) => ConditionValue::Text(field.text()?.value),
        DeValue::Boolean(flag) => ConditionValue::Flag(*flag),
        DeValue::Float(number) => ConditionValue::Decimal(number.as_str().parse().ok()?),
        DeValue::Integer(number) => {
            let Ok(number) = i64::from_str_radix(number.as_str(), number.radix()) else {
                field.report("the number is too large", "write a smaller one");
                return None;
            };
            ConditionValue::Integer(number)
        }
        DeValue::Array(_) => {
            let items = field.items()?;
            ConditionValue::List(items.iter().filter_map(read_value).collect())
        }
        DeValue::Table(_) => {
            let entries = field.section("`value`")?.entries();
            let pair = |entry: &ConfigField<'_>| Some((entry.key.clone(), read_value(entry)?));
            ConditionValue::Table(entries.iter().filter_map(pair).collect())
        }
        DeValue::Datetime(_) => {
            field.report("dates and times must be strings", "quote it: `\"09:00\"`");
            return None;
        }
    })
}
