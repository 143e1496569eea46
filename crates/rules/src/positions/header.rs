//! `header`: a client header. Headers that carry keys cannot be read; use the
//! position `key` instead.

use serde_json::Value;

use super::check::{Check, Compiled};
use super::{Op, Position};
use crate::error::InvalidValue;
use crate::notes::Note;
use crate::text_match::{MakeTextMatch, TextMatch, contains, equals, glob, regex};
use crate::{RuleIndex, Subject, excerpt, value};

pub(super) const HEADER: Position = Position {
    name: "header",
    ops: &[
        Op {
            name: "present",
            compile: present,
        },
        Op {
            name: "equals",
            compile: |value| matching(value, equals),
        },
        Op {
            name: "contains",
            compile: |value| matching(value, contains),
        },
        Op {
            name: "glob",
            compile: |value| matching(value, glob),
        },
        Op {
            name: "regex",
            compile: |value| matching(value, regex),
        },
    ],
};

const CREDENTIAL_HEADERS: &[&str] = &[
    "api-key",
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
    "x-goog-api-key",
];
const EXAMPLE: &str = r#"{ name = "x-team", value = "blue" }"#;

#[derive(Debug)]
struct HeaderCheck {
    name: String,
    /// `None` accepts any value.
    matcher: Option<TextMatch>,
}

fn present(value: Option<&Value>) -> Compiled {
    let name = header_name(value::text(value)?)?;
    Ok(Box::new(HeaderCheck {
        name,
        matcher: None,
    }))
}

fn matching(value: Option<&Value>, make: MakeTextMatch) -> Compiled {
    let table = value::table(value, EXAMPLE)?;
    value::only_fields(&table, &["name", "value"])?;
    let text = |field: &str| {
        let found = table.get(field).and_then(Value::as_str);
        found
            .ok_or_else(|| InvalidValue::new(format!("the string `{field}` is missing: {EXAMPLE}")))
    };
    let name = header_name(text("name")?)?;
    let matcher = Some(make(text("value")?)?);
    Ok(Box::new(HeaderCheck { name, matcher }))
}

fn header_name(written: &str) -> Result<String, InvalidValue> {
    let name = http::HeaderName::try_from(written)
        .map_err(|_| InvalidValue::new(format!("`{written}` is not a valid header name")))?;
    if CREDENTIAL_HEADERS.contains(&name.as_str()) {
        return Err(InvalidValue::new(format!(
            "`{name}` carries a key, which rules cannot read; match the key's name with the position `key`"
        )));
    }
    Ok(name.as_str().to_owned())
}

impl Check for HeaderCheck {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        let found = subject.header(&self.name);
        found.is_some_and(|text| {
            self.matcher
                .as_ref()
                .is_none_or(|matcher| matcher.holds(text))
        })
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        let found = subject.header(&self.name);
        found.map_or_else(|| "none".to_owned(), excerpt::head)
    }

    fn note(&self, subject: &Subject<'_>, _: RuleIndex) -> Note {
        match subject.header(&self.name) {
            Some(_) => Note::NotKept,
            None => Note::Text("none".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{errors_of, holds};
    use crate::{ConditionSpec, Subject};
    use majordomo::Request;
    use serde_json::json;

    #[test]
    fn a_header_is_found_by_name_and_matched_by_value() {
        let request = Request::user("hi");
        let headers = |name: &str| (name == "x-team").then_some("blue-2");
        let subject = Subject::new(&request, "m").headers(&headers);
        let named = |name: &str, value: &str| json!({"name": name, "value": value});
        for (op, value, expected) in [
            ("present", json!("X-Team"), true),
            ("present", json!("x-other"), false),
            ("equals", named("x-team", "blue-2"), true),
            ("equals", named("x-team", "blue"), false),
            ("equals", named("x-other", "blue-2"), false),
            ("contains", named("X-Team", "blue"), true),
            ("glob", named("x-team", "blue-*"), true),
            ("regex", named("x-team", r"^\w+-\d$"), true),
            ("regex", named("x-team", r"^\d"), false),
        ] {
            let held = holds("header", op, value.clone(), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }

    #[test]
    fn a_header_map_works_as_lookup() {
        let mut map = http::HeaderMap::new();
        map.insert("x-team", "blue".parse().unwrap());
        let headers = |name: &str| map.get(name).and_then(|value| value.to_str().ok());
        let request = Request::user("hi");
        let subject = Subject::new(&request, "m").headers(&headers);
        assert!(holds("header", "present", json!("x-team"), &subject));
    }

    #[test]
    fn headers_that_carry_keys_are_rejected() {
        for name in ["Authorization", "x-api-key", "x-goog-api-key", "Cookie"] {
            let spec = ConditionSpec::leaf("header", "present", name);
            assert!(errors_of(&spec)[0].contains("position `key`"), "{name}");
        }
    }

    #[test]
    fn errors_in_the_table_are_reported() {
        for (value, expected) in [
            (json!("x-team: blue"), "expected a table"),
            (json!({"name": "x-team"}), "the string `value` is missing"),
            (json!({"nam": "x", "value": "y"}), "did you mean `name`"),
            (
                json!({"name": "x team", "value": "y"}),
                "not a valid header name",
            ),
        ] {
            let spec = ConditionSpec::leaf("header", "equals", value);
            let error = &errors_of(&spec)[0];
            assert!(error.contains(expected), "{error}");
        }
    }
}
