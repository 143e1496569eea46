//! Conditions of smart rules as plain data; `routes` compiles them.

use toml::de::DeValue;

use super::Span;
use super::reader::{Field, Section};

/// A condition, or a group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A single comparison.
    Leaf(Leaf),
    /// Matches if any member matches.
    Any {
        /// The members.
        conditions: Vec<Condition>,
        /// Position in the file.
        span: Span,
    },
    /// Matches if its member does not.
    Not {
        /// The member.
        condition: Box<Condition>,
        /// Position in the file.
        span: Span,
    },
}

/// Compares one property of the request.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The property: `token`, `header`, …
    pub position: String,
    /// Selects one of several, such as a header's name.
    pub name: Option<String>,
    /// The operator; empty if omitted.
    pub op: String,
    /// The operand.
    pub value: Option<Value>,
    /// Position of the condition.
    pub span: Span,
    /// Position of its value, or of the whole condition if it has none.
    pub value_span: Span,
}

/// A value from the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Decimal(f64),
    /// A boolean.
    Flag(bool),
    /// A list.
    List(Vec<Value>),
    /// A table in file order, such as the hours of `time`.
    Table(Vec<(String, Value)>),
}

impl Condition {
    /// Position in the file.
    pub fn span(&self) -> &Span {
        match self {
            Self::Leaf(leaf) => &leaf.span,
            Self::Any { span, .. } | Self::Not { span, .. } => span,
        }
    }
}

/// Maximum nesting depth of groups.
const DEEPEST: usize = 8;

/// Reads `when = [ … ]`.
pub(super) fn read_all(field: &Field<'_>) -> Option<Vec<Condition>> {
    let items = field.items()?;
    Some(items.iter().filter_map(|item| read(item, 0)).collect())
}

fn read(field: &Field<'_>, depth: usize) -> Option<Condition> {
    if depth > DEEPEST {
        field.report(
            format!("conditions are nested more than {DEEPEST} deep"),
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
            let hint = "write two conditions; all of `when` must hold";
            not.report("a condition has either `any` or `not`", hint);
            None
        }
        (Some(any), None) => {
            let items = any.items()?;
            if items.is_empty() {
                any.report("`any` of nothing never holds", "put conditions into it");
                return None;
            }
            let conditions = items.iter().filter_map(|item| read(item, depth + 1));
            Some(Condition::Any {
                conditions: conditions.collect(),
                span,
            })
        }
        (None, Some(not)) => Some(Condition::Not {
            condition: Box::new(read(&not, depth + 1)?),
            span,
        }),
        (None, None) => leaf.map(Condition::Leaf),
    }
}

fn leaf(section: &mut Section<'_>, is_group: bool) -> Option<Leaf> {
    let position = section.take("position");
    let op = section.take("op");
    let name = section.take("name");
    let value = section.take("value");
    if is_group {
        for field in [position, op, name, value].into_iter().flatten() {
            let hint = "a group holds whole conditions: `{ any = [ { position = … }, … ] }`";
            section.reader.report(
                field.key_span.clone(),
                format!("a group has no `{}`", field.key),
                hint,
            );
        }
        return None;
    }
    let Some(position) = position else {
        section.reader.report(
            section.span.clone(),
            "the condition has no `position`",
            "say what to look at: `{ position = \"token\", op = \"ge\", value = 60000 }`",
        );
        return None;
    };
    let position = position.filled()?;
    if op.is_none() && position.value != "time" {
        section.reader.report(
            section.span.clone(),
            format!("the condition on {} has no `op`", position.shown()),
            "say how to compare, such as `op = \"contains\"` or `op = \"ge\"`",
        );
        return None;
    }
    let op = match op {
        Some(field) => field.filled()?.value,
        None => String::new(),
    };
    Some(Leaf {
        position: position.value,
        name: name.and_then(|field| field.filled()).map(|text| text.value),
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

fn read_value(field: &Field<'_>) -> Option<Value> {
    Some(match field.value {
        DeValue::String(_) => Value::Text(field.text()?.value),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Float(number) => Value::Decimal(number.as_str().parse().ok()?),
        DeValue::Integer(number) => {
            let Ok(number) = i64::from_str_radix(number.as_str(), number.radix()) else {
                field.report("the number is too large", "write a smaller one");
                return None;
            };
            Value::Integer(number)
        }
        DeValue::Array(_) => {
            let items = field.items()?;
            Value::List(items.iter().filter_map(read_value).collect())
        }
        DeValue::Table(_) => {
            let entries = field.section("`value`")?.entries();
            let pair = |entry: &Field<'_>| Some((entry.key.clone(), read_value(entry)?));
            Value::Table(entries.iter().filter_map(pair).collect())
        }
        DeValue::Datetime(_) => {
            field.report(
                "dates and times are written as texts",
                "put it in quotes: `\"09:00\"`",
            );
            return None;
        }
    })
}
