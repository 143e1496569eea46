//! The cost of a route's smart rules per request: `cargo bench -p majordomo-rules`.
//!
//! Goals, as medians: 50 rules on an 80 KB agent request take at most 150 µs; at
//! most 5 µs if the first rule decides on `model`; rules that do not read the prompt
//! cost the same on a prompt a hundred times as long.

use divan::{AllocProfiler, Bencher, black_box};
use majordomo::{Json, Message, Part, Request, Tool, ToolCall, ToolResult};
use majordomo_rules::{ConditionSpec, RuleSet, RuleSpec, Subject};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

fn leaf(position: &str, op: &str, value: impl Into<Value>) -> ConditionSpec {
    ConditionSpec::leaf(position, op, value)
}

fn compiled(conditions: Vec<ConditionSpec>) -> RuleSet {
    let rule = |(index, when)| RuleSpec {
        name: format!("rule {index}"),
        when: vec![when],
        services: vec!["any/model".to_owned()],
    };
    let rules = conditions.into_iter().enumerate().map(rule).collect();
    RuleSet::compile(rules).expect("valid rules")
}

/// Fifty rules of which none matches, so that all are evaluated: every position, and
/// several that read the prompt.
fn fifty() -> RuleSet {
    let mut rules = Vec::new();
    for n in 0..5 {
        rules.extend([
            leaf("model", "glob", format!("other-{n}-*")),
            leaf("context_system", "contains", format!("project-{n}")),
            leaf(
                "context_system",
                "regex",
                format!(r"(?i)reply in (french|german|dutch){n}"),
            ),
            leaf("context_user", "contains", format!("deploy-{n}")),
            leaf("context_user", "regex", format!(r"ticket-{n}\d{{4}}\b")),
            leaf("latest_user", "contains", format!("urgent-{n}")),
            leaf("tool", "equals", format!("mcp__search_{n}")),
            leaf("token", "ge", 200_000 + n),
            ConditionSpec::any([
                leaf("images", "gt", n),
                leaf("agent.claude_code", "equals", "compact"),
            ]),
            leaf(
                "time",
                "time_range",
                json!({"start": "03:00", "end": "04:00", "timezone": "Europe/Berlin"}),
            ),
        ]);
    }
    assert_eq!(rules.len(), 50);
    compiled(rules)
}

/// About 80 KB, as coding agents send it: system text, two dozen tools, user
/// messages between tool calls and their results.
fn agent_request() -> Request {
    let instructions = "You are a careful agent. Read before you write, and test after.\n";
    let mut request = Request::user("Fix the bug in the parser.").system(instructions.repeat(200));
    let source = "fn main() {\n    let text = \"hello\\tworld\";\n    println!(\"{text}\");\n}\n";
    for turn in 0..20 {
        let arguments = format!(r#"{{"path":"src/file_{turn}.rs"}}"#);
        let call = ToolCall::new(format!("call_{turn}"), "read_file", arguments);
        let result = ToolResult::new(&call, source.repeat(14));
        let remark = "Now look at the next file, and say what you would change in it. ";
        request = request
            .message(Message::assistant(Part::ToolCall(call)))
            .message(Message::tool_results_message([result]))
            .message(Message::user(remark.repeat(12)));
    }
    let schema = Json::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#);
    let schema = schema.expect("valid JSON");
    for tool in 0..24 {
        let purpose = "Does something useful and says so at some length. ".repeat(18);
        let tool = Tool::new(format!("tool_{tool}")).description(purpose);
        request.edit().tools.push(tool.parameters(schema.clone()));
    }
    request
}

/// The same size in one user text: the worst case for text rules.
fn one_long_text() -> Request {
    Request::user("Now look at the next file, and say what you would change in it. ".repeat(1_250))
}

fn evaluated(bencher: Bencher<'_, '_>, rules: &RuleSet, request: &Request) {
    bencher.bench_local(|| {
        let subject = Subject::new(black_box(request), "coder");
        black_box(rules.evaluate(&subject))
    });
}

#[divan::bench]
fn fifty_rules_on_an_agent_request(bencher: Bencher<'_, '_>) {
    evaluated(bencher, &fifty(), &agent_request());
}

#[divan::bench]
fn fifty_rules_on_one_long_text(bencher: Bencher<'_, '_>) {
    evaluated(bencher, &fifty(), &one_long_text());
}

#[divan::bench]
fn fifty_rules_with_a_trace(bencher: Bencher<'_, '_>) {
    let (rules, request) = (fifty(), agent_request());
    bencher.bench_local(|| {
        let subject = Subject::new(black_box(&request), "coder");
        rules.explain(&subject)
    });
}

/// The cost where traces are kept.
#[divan::bench]
fn fifty_rules_with_notes(bencher: Bencher<'_, '_>) {
    let (rules, request) = (fifty(), agent_request());
    bencher.bench_local(|| {
        let subject = Subject::new(black_box(&request), "coder");
        rules.evaluate_with_notes(&subject)
    });
}

/// Fifty rules of which the first decides on `model`.
fn first_decides() -> RuleSet {
    let mut conditions = vec![leaf("model", "glob", "cod*")];
    conditions.extend((0..49).map(|n| leaf("context_user", "regex", format!("x{n}"))));
    compiled(conditions)
}

#[divan::bench]
fn the_first_rule_decides_on_the_model(bencher: Bencher<'_, '_>) {
    evaluated(bencher, &first_decides(), &agent_request());
}

#[divan::bench]
fn the_first_rule_decides_with_notes(bencher: Bencher<'_, '_>) {
    let (rules, request) = (first_decides(), agent_request());
    bencher.bench_local(|| {
        let subject = Subject::new(black_box(&request), "coder");
        rules.evaluate_with_notes(&subject)
    });
}

/// Rules that ignore the prompt, on prompts of 1 KB and 100 KB.
#[divan::bench(args = [1, 100])]
fn rules_that_do_not_read_the_prompt(bencher: Bencher<'_, '_>, kilobytes: usize) {
    let conditions = (0..50).map(|n| match n % 3 {
        0 => leaf("model", "contains", format!("other-{n}")),
        1 => leaf("key", "glob", format!("team-{n}/*")),
        _ => leaf("thinking", "enabled", true),
    });
    let request = Request::user("x".repeat(kilobytes * 1024));
    evaluated(bencher, &compiled(conditions.collect()), &request);
}
