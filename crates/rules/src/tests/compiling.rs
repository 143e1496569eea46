//! Rejected rules, and the positions of their errors.

use serde_json::{Value, json};

use super::errors_of;
use crate::{ConditionSpec, RuleField, RuleSet, RuleSpec, compile, operations};

fn leaf(position: &str, op: &str, value: impl Into<Value>) -> ConditionSpec {
    ConditionSpec::leaf(position, op, value)
}

fn good() -> ConditionSpec {
    leaf("model", "contains", "gpt")
}

/// Rule, path and field of every error.
fn places(specs: Vec<RuleSpec>) -> Vec<(usize, Vec<usize>, RuleField)> {
    let errors = RuleSet::compile(specs).expect_err("bad rules");
    let place = |error: crate::RuleError| (error.rule, error.path, error.field);
    errors.into_iter().map(place).collect()
}

fn rule(when: Vec<ConditionSpec>) -> RuleSpec {
    RuleSpec {
        name: "r".to_owned(),
        when,
        services: vec!["s".to_owned()],
    }
}

#[test]
fn an_unknown_position_or_operation_is_rejected_with_the_nearest_name() {
    let position = &errors_of(&leaf("modle", "contains", "gpt"))[0];
    assert!(position.starts_with("unknown position `modle`; expected one of `model`,"));
    assert!(position.ends_with("; did you mean `model`?"), "{position}");
    assert_eq!(
        errors_of(&leaf("model", "contain", "gpt")),
        [
            "unknown operation `contain` for position `model`; expected one of `equals`, `contains` or `glob`; \
             did you mean `contains`?"
        ]
    );
    let op = &errors_of(&leaf("token", "contains", "x"))[0];
    assert!(op.contains("`ge`, `gt`, `le` or `lt`"), "{op}");
}

#[test]
fn values_of_the_wrong_type_are_rejected() {
    for (position, op, value, fits) in [
        ("token", "ge", json!("abc"), false),
        ("token", "ge", json!(""), false),
        ("token", "ge", json!("5"), true),
        ("thinking", "enabled", json!("invalid"), false),
        ("thinking", "enabled", json!(""), true),
        ("model", "glob", json!("gpt-["), false),
        ("model", "contains", json!(""), false),
        ("model", "contains", json!(7), false),
        ("context_user", "regex", json!("("), false),
        ("latest_user", "type", json!("picture"), false),
    ] {
        let compiled = compile(&leaf(position, op, value.clone()));
        assert_eq!(compiled.is_ok(), fits, "{position} {op} {value}");
        if let Err(errors) = compiled {
            assert_eq!(errors[0].field, RuleField::Value);
        }
    }
}

#[test]
fn a_rule_without_a_name_conditions_or_services_is_rejected() {
    let empty = RuleSpec {
        name: " ".to_owned(),
        when: Vec::new(),
        services: Vec::new(),
    };
    let fields: Vec<RuleField> = places(vec![empty]).into_iter().map(|(_, _, f)| f).collect();
    assert_eq!(
        fields,
        [RuleField::Name, RuleField::Services, RuleField::When]
    );
}

#[test]
fn malformed_time_values_are_rejected() {
    let range =
        |start: &str, end: &str, zone: &str| json!({"start": start, "end": end, "timezone": zone});
    for (value, fits) in [
        (json!(""), false),
        (json!([]), false),
        (json!("[]"), false),
        (range("9:00", "17:00", "UTC"), false),
        (range("24:00", "17:00", "UTC"), false),
        (range("09:00", "17:60", "UTC"), false),
        (range("+9:00", "17:00", "UTC"), false),
        (range("09:00", "09:00", "UTC"), false),
        (range("09:00", "17:00", "Mars/Olympus"), false),
        (range("09:00", "17:00", ""), false),
        (
            json!({"start": "09:00", "end": "17:00", "timezone": "UTC", "x": 1}),
            false,
        ),
        (
            json!(r#"{"start":"09:00","end":"17:00","timezone":"UTC"} {}"#),
            false,
        ),
        (
            json!(r#"{"start":"09:00","end":"17:00","timezone":"UTC"}"#),
            true,
        ),
        (range("09:00", "17:00", "Europe/Berlin"), true),
    ] {
        let compiled = compile(&leaf("time", "time_range", value.clone()));
        assert_eq!(compiled.is_ok(), fits, "{value}");
    }
}

#[test]
fn every_error_of_every_rule_is_reported_at_once_with_its_location() {
    let specs = vec![
        rule(vec![good(), leaf("modle", "contains", "x")]),
        rule(vec![good()]),
        rule(vec![
            leaf("token", "ge", "abc"),
            ConditionSpec::any([
                good(),
                leaf("model", "contain", "x").negated(),
                ConditionSpec::any([]),
            ]),
        ]),
    ];
    assert_eq!(
        places(specs),
        [
            (0, vec![1], RuleField::Position),
            (2, vec![0], RuleField::Value),
            (2, vec![1, 1, 0], RuleField::Op),
            (2, vec![1, 2], RuleField::Any),
        ]
    );
}

#[test]
fn groups_nested_too_deeply_are_rejected() {
    let mut deep = good();
    for _ in 0..100 {
        deep = deep.negated();
    }
    let errors = compile(&deep).unwrap_err();
    assert_eq!(errors[0].field, RuleField::Not);
    assert_eq!(
        errors[0].message,
        "groups are nested more than 16 levels deep"
    );
}

#[test]
fn the_catalogue_matches_the_documented_operations() {
    let promised = "model.equals model.contains model.glob \
        thinking.enabled thinking.disabled \
        context_system.contains context_system.regex \
        context_user.contains context_user.regex \
        latest_user.contains latest_user.type \
        tool.equals tool.contains tool.glob tool_use.equals \
        token.ge token.gt token.le token.lt \
        images.ge images.gt images.le images.lt images.eq \
        agent.claude_code.equals \
        header.present header.equals header.contains header.glob header.regex \
        key.equals key.contains key.glob time.time_range \
        service_ttft.avg_le service_ttft.avg_ge service_ttft.max_le service_ttft.max_ge \
        service_capacity.util_le service_capacity.util_ge \
        service_capacity.util_lt service_capacity.util_gt";
    let known: Vec<String> = operations().map(|(p, op)| format!("{p}.{op}")).collect();
    assert_eq!(known, promised.split_whitespace().collect::<Vec<_>>());
}
