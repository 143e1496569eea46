//! No condition panics on any request, and all evaluation methods agree.

use majordomo::{Message, Part, Request, Role, Tool, ToolCall, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rule;
use crate::{ConditionSpec, RuleSet, Subject, compile, operations};

fn value() -> impl Strategy<Value = Option<Value>> {
    let some = prop_oneof![
        any::<bool>().prop_map(|v| json!(v)),
        any::<i64>().prop_map(|v| json!(v)),
        any::<f64>().prop_map(|v| json!(v)),
        ".{0,12}".prop_map(|v| json!(v)),
        "[a-c.*+?(){}|\\[\\]^$]{0,8}".prop_map(|v| json!(v)),
        prop::sample::select(vec!["main", "image", "text", "true", "10"]).prop_map(|v| json!(v)),
        ("[a-z-]{1,6}", ".{0,6}").prop_map(|(name, value)| json!({"name": name, "value": value})),
        (
            "[0-2][0-9]:[0-5][0-9]",
            "[0-2][0-9]:[0-5][0-9]",
            any::<bool>()
        )
            .prop_map(|(start, end, outside)| {
                json!({"start": start, "end": end, "timezone": "Europe/Berlin",
                       "days": ["mon", "sun"], "outside": outside})
            }),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(|v| json!(v)),
    ];
    prop::option::of(some)
}

/// Mostly existing operations, occasionally an unknown one.
fn leaf() -> impl Strategy<Value = ConditionSpec> {
    let known: Vec<_> = operations().collect();
    let known = prop::sample::select(known).prop_map(|(p, op)| (p.to_owned(), op.to_owned()));
    let made_up = (".{0,8}", ".{0,8}");
    let named = prop_oneof![9 => known, 1 => made_up];
    (named, value()).prop_map(|((position, op), value)| ConditionSpec::Leaf {
        position,
        op,
        value,
    })
}

fn condition() -> impl Strategy<Value = ConditionSpec> {
    leaf().prop_recursive(4, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(ConditionSpec::Any),
            inner.prop_map(ConditionSpec::negated),
        ]
    })
}

fn part() -> impl Strategy<Value = Part> {
    let plain = prop_oneof![
        ".{0,200}".prop_map(Part::text),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|data| Part::image("image/png", data)),
        ("[a-z_]{0,8}", ".{0,20}")
            .prop_map(|(name, arguments)| Part::ToolCall(ToolCall::new("c", name, arguments))),
    ];
    plain.prop_recursive(2, 6, 3, |inner| {
        prop::collection::vec(inner, 0..3).prop_map(|parts| {
            let call = ToolCall::new("c", "t", "");
            let mut result = ToolResult::new(&call, "");
            result.parts = parts;
            Part::ToolResult(result)
        })
    })
}

fn request() -> impl Strategy<Value = Request> {
    let roles = vec![Role::System, Role::User, Role::Assistant, Role::Tool];
    let message = (
        prop::sample::select(roles),
        prop::collection::vec(part(), 0..4),
    )
        .prop_map(|(role, parts)| Message::new(role, parts));
    let messages = prop::collection::vec(message, 0..5);
    (".{0,40}", messages, "[a-z_]{0,8}").prop_map(|(system, messages, tool)| {
        Request::from(messages).system(system).tool(Tool::new(tool))
    })
}

proptest! {
    #[test]
    fn no_condition_panics_and_every_error_has_a_message(spec in condition()) {
        if let Err(errors) = compile(&spec) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                prop_assert!(!error.message.is_empty());
            }
        }
    }

    #[test]
    fn the_trace_and_the_notes_agree_with_the_verdict(
        request in request(),
        conditions in prop::collection::vec(condition(), 1..4),
        seconds in any::<u32>(),
    ) {
        let specs: Vec<_> = conditions
            .into_iter()
            .filter(|spec| compile(spec).is_ok())
            .map(|spec| rule("r", [spec]))
            .collect();
        let rules = RuleSet::compile(specs).expect("only valid rules are left");
        let now = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.into());
        let headers = |name: &str| (name.len() < 4).then_some("value");
        let subject = Subject::new(&request, "m").headers(&headers).at(now);
        let verdict = rules.explain(&subject);
        prop_assert_eq!(rules.evaluate(&subject), verdict.matched);
        for looked_at in &verdict.trace.rules {
            prop_assert!(serde_json::to_string(looked_at).expect("plain data").len() < 8_000);
        }

        let (matched, notes) = rules.evaluate_with_notes(&subject);
        prop_assert_eq!(matched, verdict.matched);
        let mut full = serde_json::to_value(&verdict.trace).expect("plain data");
        let noted = serde_json::to_value(notes.trace()).expect("plain data");
        drop_what_notes_omit(&mut full, &noted);
        prop_assert_eq!(full, noted);
    }
}

/// Removes from the full trace what notes omit.
fn drop_what_notes_omit(full: &mut Value, noted: &Value) {
    match (full, noted) {
        (Value::Object(full), Value::Object(noted)) => {
            if noted.get("actual") == Some(&json!("(not kept)")) {
                full.insert("actual".to_owned(), json!("(not kept)"));
            }
            for (key, value) in full {
                drop_what_notes_omit(value, &noted[key]);
            }
        }
        (Value::Array(full), Value::Array(noted)) => {
            for (full, noted) in full.iter_mut().zip(noted) {
                drop_what_notes_omit(full, noted);
            }
        }
        _ => {}
    }
}
