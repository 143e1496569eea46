//! Which rule a request matches.

use majordomo::llm::{HeuristicEstimator, TokenEstimator};
use majordomo::{Message, Part, Request, ToolCall, ToolResult};
use majordomo_wire::{Outgoing, Protocol};
use serde_json::{Value, json};

use super::{holds, matched, read, rule, rules};
use crate::{ConditionSpec, RuleSet, Subject};

fn leaf(position: &str, op: &str, value: impl Into<Value>) -> ConditionSpec {
    ConditionSpec::leaf(position, op, value)
}

/// The same request, encoded and decoded in a client's dialect.
fn said_in(protocol: Protocol, request: &Request) -> Request {
    let written = protocol.codec().write_request(request, &Outgoing::new("m"));
    let read = protocol.codec().read_request(written.body);
    read.expect("a codec reads what it writes").request
}

#[test]
fn a_chat_request_matches_by_model_and_its_texts_are_extracted() {
    let body = json!({"model": "gpt-4o", "messages": [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "hello there"},
    ]});
    let request = read(Protocol::Chat, &body);
    let subject = Subject::new(&request, "gpt-4o");
    let rules = rules([rule("gpt", [leaf("model", "contains", "gpt")])]);
    assert_eq!(matched(&rules, &subject), Some("gpt"));
    assert_eq!(subject.system_text(), "You are terse.");
    assert_eq!(subject.user_text(), "hello there");
}

#[test]
fn a_thinking_request_matches_the_thinking_rule_and_a_plain_one_the_next() {
    let rules = rules([
        rule("thinker", [leaf("thinking", "enabled", true)]),
        rule("haiku", [leaf("model", "contains", "haiku")]),
    ]);
    let plain = json!({
        "model": "claude-haiku", "max_tokens": 9_000,
        "messages": [{"role": "user", "content": "hi"}],
    });
    let mut thinking = plain.clone();
    thinking["thinking"] = json!({"type": "enabled", "budget_tokens": 2_048});
    for (body, expected) in [(thinking, "thinker"), (plain, "haiku")] {
        let request = read(Protocol::Messages, &body);
        let subject = Subject::new(&request, "claude-haiku");
        assert_eq!(matched(&rules, &subject), Some(expected));
    }
}

#[test]
fn the_latest_content_type_is_image_only_if_the_last_user_message_has_one() {
    let image = Part::image("image/png", vec![1]);
    let now = Request::user("see").part(image);
    let earlier = now
        .clone()
        .message(Message::assistant("nice"))
        .message(Message::user("thanks"));
    for (request, expected) in [(now, true), (earlier, false)] {
        let subject = Subject::new(&request, "m");
        let is_image = holds("latest_user", "type", json!("image"), &subject);
        assert_eq!(is_image, expected);
        assert!(holds("images", "ge", json!(1), &subject));
    }
}

#[test]
fn a_keyword_matches_only_in_the_final_user_message() {
    let call = ToolCall::new("call_0", "run", "{}");
    let request = Request::user("KEYWORD please")
        .message(Message::assistant(Part::ToolCall(call.clone())))
        .message(Message::tool_results_message([ToolResult::new(
            &call, "ok",
        )]));
    let again = request.clone().message(Message::user("KEYWORD again"));
    for protocol in Protocol::ALL {
        for (request, expected) in [(&request, false), (&again, true)] {
            let request = said_in(protocol, request);
            let subject = Subject::new(&request, "m");
            let held = holds("latest_user", "contains", json!("KEYWORD"), &subject);
            assert_eq!(held, expected, "{protocol:?}");
        }
    }
}

#[test]
fn tokens_come_from_the_given_estimator() {
    for text in ["", "hello", "hello world", &"x".repeat(65)] {
        let request = Request::user(text);
        let plain = HeuristicEstimator.estimate(&request);
        assert_eq!(Subject::new(&request, "m").tokens(), plain);
    }
    let request = Request::user("hello");
    let subject = Subject::new(&request, "m").estimate(&|_| 5_000);
    assert_eq!(subject.tokens(), 5_000);
}

#[test]
fn tokens_cover_the_whole_request_and_images_at_their_token_cost() {
    let tokens = |request: &Request| Subject::new(request, "m").tokens();
    let base = Request::user("hi");
    let long = "x".repeat(4_000);
    let call = ToolCall::new("call_0", "run", long.clone());
    let result = ToolResult::new(&call, long.clone());
    for grown in [
        base.clone().system(long.clone()),
        base.clone().message(Message::assistant(long.clone())),
        base.clone()
            .message(Message::assistant(Part::ToolCall(call))),
        base.clone()
            .message(Message::tool_results_message([result])),
        base.clone()
            .tool(majordomo::Tool::new("t").description(long)),
    ] {
        assert!(tokens(&grown) > tokens(&base) + 900);
    }
    let megabyte = base
        .clone()
        .part(Part::image("image/png", vec![0; 1 << 20]));
    assert!(tokens(&megabyte) < 10_000);
}

/// One rule per kind of Claude Code request.
fn by_kind() -> RuleSet {
    let kinds = ["main", "subagent", "compact"];
    rules(kinds.map(|kind| rule(kind, [leaf("agent.claude_code", "equals", kind)])))
}

#[test]
fn claude_code_requests_are_distinguished_in_every_dialect() {
    let cli = "You are Claude Code, Anthropic's official CLI for Claude.";
    let subagent = "You are an agent for Claude Code. Do what was asked.";
    let both = format!("{cli} Later it says: You are an agent.");
    let summarize = "Create a detailed summary of the conversation so far.";
    let rules = by_kind();
    for (system, user, expected) in [
        (cli, "hi", Some("main")),
        (subagent, "hi", Some("subagent")),
        (both.as_str(), "hi", Some("main")),
        (cli, summarize, Some("compact")),
        (subagent, summarize, Some("compact")),
        ("You are terse.", "hi", None),
    ] {
        let request = Request::user(user).system(system);
        for protocol in Protocol::ALL {
            let request = said_in(protocol, &request);
            let subject = Subject::new(&request, "m");
            let found = matched(&rules, &subject);
            assert_eq!(found, expected, "{protocol:?}: {system:?}, {user:?}");
        }
    }
}

/// Whether a time condition holds at an RFC 3339 timestamp.
fn at(moment: &str, value: Value) -> bool {
    let moment: jiff::Timestamp = moment.parse().expect("a valid timestamp");
    let request = Request::user("hi");
    let subject = Subject::new(&request, "m").at(moment.into());
    holds("time", "time_range", value, &subject)
}

#[test]
fn a_window_includes_its_start_and_excludes_its_end() {
    let office = json!({"start": "09:00", "end": "17:00", "timezone": "UTC"});
    assert!(at("2026-08-03T09:00:00Z", office.clone()));
    assert!(at("2026-08-03T16:59:59Z", office.clone()));
    assert!(!at("2026-08-03T17:00:00Z", office.clone()));
    assert!(!at("2026-08-03T08:59:59Z", office));
    let off = json!({"start": "09:00", "end": "17:00", "timezone": "UTC", "outside": true});
    assert!(at("2026-08-03T17:00:00Z", off));
}

#[test]
fn a_window_spans_midnight_in_its_own_time_zone() {
    let night = json!({"start": "22:00", "end": "06:00", "timezone": "UTC"});
    assert!(at("2026-08-03T23:00:00Z", night.clone()));
    assert!(at("2026-08-03T05:59:00Z", night.clone()));
    assert!(!at("2026-08-03T06:00:00Z", night));
    let shanghai = json!({"start": "09:00", "end": "10:00", "timezone": "Asia/Shanghai"});
    assert!(at("2026-08-03T01:00:00Z", shanghai));
}

#[test]
fn the_repeated_hour_of_a_clock_change_matches_twice() {
    let hour = json!({"start": "01:00", "end": "02:00", "timezone": "America/New_York"});
    assert!(at("2026-11-01T05:30:00Z", hour.clone()));
    assert!(at("2026-11-01T06:30:00Z", hour.clone()));
    assert!(!at("2026-11-01T07:00:00Z", hour));
}

#[test]
fn of_two_matching_rules_the_first_wins() {
    let any = || leaf("token", "ge", 0);
    let rules = rules([rule("first", [any()]), rule("second", [any()])]);
    let request = Request::user("hi");
    assert_eq!(matched(&rules, &Subject::new(&request, "m")), Some("first"));
}

#[test]
fn only_long_prompts_match_the_token_rule() {
    let rules = rules([rule("long", [leaf("token", "ge", 50_000)])]);
    for (bytes, expected) in [(256 * 1024, Some("long")), (4 * 1024, None)] {
        let request = Request::user("x".repeat(bytes));
        let found = matched(&rules, &Subject::new(&request, "m"));
        assert_eq!(found, expected, "{bytes} bytes");
    }
}

#[test]
fn regular_expressions_are_unanchored() {
    let request = Request::user("please let foo and then bar happen").system("x");
    let subject = Subject::new(&request, "m");
    assert!(holds("context_user", "regex", json!("foo.*bar"), &subject));
    assert!(!holds("context_user", "regex", json!("^foo"), &subject));
    assert!(holds(
        "context_user",
        "regex",
        json!(r"\bba[rz]\b"),
        &subject
    ));
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let both = [
        leaf("model", "contains", "gpt"),
        leaf("token", "ge", 10_000),
    ];
    let rules = rules([rule("both", both)]);
    let request = Request::user("hi");
    assert_eq!(matched(&rules, &Subject::new(&request, "gpt-6")), None);
}

#[test]
fn any_holds_with_one_member_and_not_negates() {
    let request = Request::user("hi");
    let subject = Subject::new(&request, "gpt-6");
    let (yes, no) = (
        || leaf("model", "contains", "gpt"),
        || leaf("model", "contains", "claude"),
    );
    for (condition, expected) in [
        (ConditionSpec::any([no(), yes()]), true),
        (ConditionSpec::any([no(), no()]), false),
        (yes().negated(), false),
        (no().negated(), true),
        (ConditionSpec::any([no(), yes()]).negated(), false),
        (ConditionSpec::any([no(), no().negated()]), true),
    ] {
        let rules = rules([rule("r", [condition.clone()])]);
        let held = matched(&rules, &subject).is_some();
        assert_eq!(held, expected, "{condition:?}");
    }
}
