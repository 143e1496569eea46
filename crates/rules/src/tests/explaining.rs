//! The trace: the evaluated conditions and their findings.

use majordomo::{Request, Tool};
use serde_json::{Value, json};

use super::{rule, rules};
use crate::{ConditionSpec, ConditionTrace, RuleIndex, Subject, Verdict};

fn leaf(position: &str, op: &str, value: impl Into<Value>) -> ConditionSpec {
    ConditionSpec::leaf(position, op, value)
}

fn explained(when: impl IntoIterator<Item = ConditionSpec>, subject: &Subject<'_>) -> Verdict {
    rules([rule("r", when)]).explain(subject)
}

/// The value found by the first condition of the first rule.
fn actual(verdict: &Verdict) -> &str {
    match &verdict.trace.rules[0].conditions[0] {
        ConditionTrace::Leaf { actual, .. } => actual,
        other => panic!("not a leaf: {other:?}"),
    }
}

#[test]
fn the_trace_lists_the_rules_up_to_the_match() {
    let rules = rules([
        rule("gpt", [leaf("model", "contains", "gpt")]),
        rule("long", [leaf("token", "ge", 1_000)]),
        rule("never evaluated", [leaf("token", "ge", 0)]),
    ]);
    let request = Request::user("hi");
    let subject = Subject::new(&request, "claude").estimate(&|_| 5_000);
    let verdict = rules.explain(&subject);
    assert_eq!(verdict.matched, Some(RuleIndex(1)));
    assert_eq!(
        serde_json::to_value(&verdict).unwrap(),
        json!({
            "matched": 1,
            "trace": {"rules": [
                {
                    "index": 0, "name": "gpt", "matched": false, "evaluated": 1, "total": 1,
                    "conditions": [{
                        "position": "model", "op": "contains", "value": "gpt",
                        "actual": "claude", "matched": false,
                    }],
                },
                {
                    "index": 1, "name": "long", "matched": true, "evaluated": 1, "total": 1,
                    "conditions": [{
                        "position": "token", "op": "ge", "value": 1_000,
                        "actual": "5000", "matched": true,
                    }],
                },
            ]},
        })
    );
}

#[test]
fn conditions_after_the_first_failure_are_not_evaluated() {
    let request = Request::user("hi");
    let when = [leaf("model", "equals", "x"), leaf("token", "ge", 0)];
    let verdict = explained(when, &Subject::new(&request, "claude"));
    let looked_at = &verdict.trace.rules[0];
    assert_eq!((looked_at.evaluated, looked_at.total), (1, 2));
    assert_eq!(verdict.matched, None);
}

#[test]
fn a_match_is_shown_with_its_surroundings() {
    for filler in ["lorem ipsum ", "x", "é"] {
        let side = filler.repeat(2_200 / filler.len());
        let request = Request::user(format!("{side}NEEDLE{side}"));
        for condition in [
            leaf("context_user", "contains", "NEEDLE"),
            leaf("context_user", "regex", "NEE[A-Z]+E"),
            leaf("latest_user", "contains", "NEEDLE"),
        ] {
            let verdict = explained([condition], &Subject::new(&request, "m"));
            let shown = actual(&verdict);
            assert!(shown.contains("NEEDLE"), "{shown}");
            assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
            assert!(shown.len() < 300, "{} bytes", shown.len());
        }
    }
}

#[test]
fn a_text_without_a_match_is_shown_by_its_start() {
    for filler in ["lorem ipsum ", "x", "é"] {
        let request = Request::user(filler.repeat(5_000 / filler.len()));
        let when = [leaf("context_user", "contains", "NEEDLE")];
        let verdict = explained(when, &Subject::new(&request, "m"));
        let shown = actual(&verdict);
        assert!(shown.len() <= 125 && shown.ends_with('…'), "{shown}");
    }
}

#[test]
fn groups_show_their_evaluated_members() {
    let request = Request::user("hi");
    let members = ["gpt", "claude", "gemini"].map(|name| leaf("model", "equals", name));
    let when = [ConditionSpec::any(members).negated()];
    let verdict = explained(when, &Subject::new(&request, "claude"));
    let condition = &verdict.trace.rules[0].conditions[0];
    let shown = serde_json::to_value(condition).unwrap();
    assert_eq!(shown["matched"], false);
    assert_eq!(shown["not"]["matched"], true);
    assert_eq!(shown["not"]["any"].as_array().unwrap().len(), 2);
}

#[test]
fn keys_in_prompts_and_headers_are_redacted_in_the_trace() {
    let request = Request::user("my key is sk-CANARYCANARY, needle");
    let headers = |_: &str| Some("Bearer CANARYCANARY");
    let subject = Subject::new(&request, "m").headers(&headers);
    let table = json!({"name": "x-upstream", "value": "sk-CANARYCANARY"});
    for condition in [
        leaf("context_user", "contains", "needle"),
        leaf("context_user", "contains", "absent"),
        leaf("context_user", "regex", "CANARY$"),
        leaf("header", "present", "x-upstream"),
        leaf("header", "equals", table),
    ] {
        let verdict = explained([condition], &subject);
        let shown = serde_json::to_string(&verdict).unwrap();
        assert!(!shown.replace("CANARY$", "").contains("CANARY"), "{shown}");
    }
}

#[test]
fn values_found_are_readable() {
    let body = Request::user("hi")
        .tool(majordomo::Tool::new("read"))
        .tool(majordomo::Tool::new("write"));
    let noon: jiff::Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    let subject = Subject::new(&body, "m").key("laptop").at(noon.into());
    let hours = json!({"start": "09:00", "end": "17:00", "timezone": "Europe/Berlin"});
    for (condition, expected) in [
        (leaf("thinking", "enabled", true), "off"),
        (leaf("latest_user", "type", "image"), "text"),
        (leaf("tool", "equals", "x"), "read, write"),
        (leaf("tool_use", "equals", "x"), "none"),
        (leaf("images", "ge", 1), "0"),
        (leaf("agent.claude_code", "equals", "main"), "none"),
        (leaf("header", "present", "x-team"), "none"),
        (leaf("key", "equals", "x"), "laptop"),
        (leaf("time", "time_range", hours), "mon 13:00 europe/berlin"),
        (leaf("service_ttft", "avg_le", 1), "not known yet"),
        (
            leaf("service_capacity", "util_le", 1),
            "no capacity configured",
        ),
    ] {
        let verdict = explained([condition.clone()], &subject);
        assert_eq!(actual(&verdict), expected, "{condition:?}");
    }
}

#[test]
fn notes_contain_no_client_content() {
    let when = [
        leaf("context_user", "contains", "MARKER"),
        leaf("context_system", "regex", "MARKER"),
        leaf("latest_user", "contains", "MARKER"),
        ConditionSpec::leaf(
            "header",
            "contains",
            json!({"name": "x-a", "value": "MARKER"}),
        ),
        leaf("tool", "contains", "MARKER"),
        leaf("model", "equals", "m"),
        leaf("token", "ge", 1),
    ];
    let rules = rules([rule("r", when)]);
    let request = Request::user("a MARKER of mine").system("a MARKER of ours");
    let request = request.tool(Tool::new("a MARKER"));
    let header = |_: &str| Some("a MARKER in a header");
    let subject = Subject::new(&request, "m").headers(&header);
    let (matched, notes) = rules.evaluate_with_notes(&subject);
    assert_eq!(matched, Some(RuleIndex(0)));
    assert!(!format!("{:?}", notes.trace()).contains("a MARKER"));
    let found: Vec<String> = notes.trace().rules[0]
        .conditions
        .iter()
        .map(|condition| match condition {
            ConditionTrace::Leaf { actual, .. } => actual.clone(),
            other => panic!("not a leaf: {other:?}"),
        })
        .collect();
    assert_eq!(
        found[..6],
        [
            "(not kept)",
            "(not kept)",
            "(not kept)",
            "(not kept)",
            "(not kept)",
            "m"
        ]
    );
    assert!(found[6].parse::<u64>().is_ok());
}
