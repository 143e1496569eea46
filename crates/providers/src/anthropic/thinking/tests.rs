//! Tests of what each model gets.

use majordomo_llm::{Json, Native, Reasoning, ToolCall, ToolResult};

use super::*;

fn fitted(model: &str, mut request: Request) -> (Option<Effort>, Option<u64>, Vec<String>) {
    let (noting, notes) = request.recording_changes();
    request = noting;
    fit_thinking(&mut request, ClaudeModel::parse(model).unwrap());
    let notes = notes.take().iter().map(ToString::to_string).collect();
    (
        request.prompt().effort,
        request.prompt().reasoning_budget,
        notes,
    )
}

fn budget(tokens: u64) -> Request {
    let mut request = Request::user("hi");
    request.edit().reasoning_budget = Some(tokens);
    request
}

#[test]
fn each_model_gets_a_supported_kind_of_thinking() {
    const OLD: &str = "claude-haiku-4-5-20251001";
    let effort = |effort| Request::user("hi").effort(effort);
    let forced = || effort(Effort::High).tool_choice(ToolChoice::Required);
    let rows = [
        (
            OLD,
            effort(Effort::High),
            None,
            Some(16_384),
            "effort rewritten",
        ),
        (
            OLD,
            effort(Effort::High).max_tokens(4_000),
            None,
            Some(2_000),
            "effort rewritten",
        ),
        (
            OLD,
            effort(Effort::High).max_tokens(500),
            None,
            None,
            "effort dropped",
        ),
        (OLD, effort(Effort::None), Some(Effort::None), None, ""),
        (OLD, forced(), None, None, "effort dropped"),
        (
            "claude-3-5-haiku-20241022",
            effort(Effort::Low),
            None,
            None,
            "effort dropped",
        ),
        (
            "claude-opus-4-6",
            effort(Effort::XHigh),
            Some(Effort::High),
            None,
            "effort lowered",
        ),
        ("claude-opus-4-6", budget(2_000), None, Some(2_000), ""),
        ("claude-sonnet-4-6", forced(), None, None, "effort dropped"),
        (
            "claude-opus-4-8",
            budget(9_000).tool_choice(ToolChoice::Named("t".into())),
            None,
            None,
            "reasoning_budget dropped",
        ),
        (
            OLD,
            budget(9_000).tool_choice(ToolChoice::Required),
            None,
            None,
            "reasoning_budget dropped",
        ),
        ("claude-sonnet-5", forced(), Some(Effort::High), None, ""),
        (
            "claude-opus-4-8",
            budget(2_000),
            Some(Effort::Low),
            None,
            "reasoning_budget dropped",
        ),
        (
            "claude-sonnet-5-5",
            effort(Effort::None),
            Some(Effort::Low),
            None,
            "effort raised",
        ),
        (
            "claude-sonnet-5-5",
            effort(Effort::Max),
            Some(Effort::Max),
            None,
            "",
        ),
    ];
    for (model, request, effort, budget, note) in rows {
        let (found, tokens, notes) = fitted(model, request);
        assert_eq!((found, tokens), (effort, budget), "{model}");
        assert_eq!(notes.join(", "), note, "{model}");
    }
}

#[test]
fn a_budget_is_not_sent_over_a_tool_call_that_lost_its_thought() {
    let own = Native::new(Protocol::Messages.dialect());
    let own = own.with("signature", Json::string("abc")).into_option();
    let foreign = Native::new(Protocol::Responses.dialect());
    let foreign = foreign.with("encrypted_content", Json::string("x"));
    let thought = |native| {
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            native,
        })
    };
    let call = ToolCall::new("a", "look", "{}");
    let result = || Message::tool_results_message([ToolResult::new(&call, "seen")]);
    let step = |first: Option<Part>| {
        let mut parts: Vec<Part> = first.into_iter().collect();
        parts.push(Part::ToolCall(call.clone()));
        Message::new(Role::Assistant, parts)
    };
    let with = |messages: Vec<Message>| {
        let mut request = budget(2_000);
        request.edit().messages.extend(messages);
        request
    };
    const OLD: &str = "claude-haiku-4-5";
    const BOTH: &str = "claude-sonnet-4-6";
    let kept = (None, Some(2_000));
    let rows = [
        (OLD, vec![step(None), result()], (None, None)),
        (BOTH, vec![step(None), result()], (Some(Effort::Low), None)),
        (
            OLD,
            vec![step(Some(thought(foreign.into_option()))), result()],
            (None, None),
        ),
        (OLD, vec![step(Some(thought(own.clone()))), result()], kept),
        // An item-based client sends each part as one message.
        (
            OLD,
            vec![
                Message::assistant(thought(own.clone())),
                step(None),
                result(),
            ],
            kept,
        ),
        // A model that thinks once per turn begins no later step with a thought.
        (
            OLD,
            vec![
                step(Some(thought(own.clone()))),
                result(),
                step(None),
                result(),
            ],
            kept,
        ),
        // Only the current turn counts.
        (
            OLD,
            vec![
                step(None),
                result(),
                Message::assistant("so"),
                Message::user("go on"),
            ],
            kept,
        ),
        (OLD, vec![Message::assistant("so")], kept),
    ];
    for (row, (model, messages, expected)) in rows.into_iter().enumerate() {
        let (effort, tokens, changes) = fitted(model, with(messages));
        assert_eq!((effort, tokens), expected, "row {row}");
        let dropped = changes.contains(&"reasoning_budget dropped".to_owned());
        assert_eq!(dropped, expected != kept, "row {row}");
    }
}

#[test]
fn a_turn_without_thinking_has_no_thoughts() {
    let thought = || {
        let native = Native::new(Protocol::Messages.dialect());
        let native = native.with("signature", Json::string("abc"));
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            native: native.into_option(),
        })
    };
    let call = ToolCall::new("a", "look", "{}");
    let result = || Message::tool_results_message([ToolResult::new(&call, "seen")]);
    let step = |parts: Vec<Part>| Message::new(Role::Assistant, parts);
    let with_thought = || step(vec![thought(), Part::ToolCall(call.clone())]);
    let lost = || step(vec![Part::ToolCall(call.clone())]);
    let turn = [
        with_thought(),
        result(),
        Message::user("go on"),
        lost(),
        result(),
        with_thought(),
        result(),
    ];
    const OLD: &str = "claude-haiku-4-5";
    let forced = |request: Request| request.tool_choice(ToolChoice::Required);
    let rows: [(&str, Request, &str); 5] = [
        (
            OLD,
            budget(2_000),
            "reasoning_budget dropped, reasoning:1 dropped",
        ),
        (
            OLD,
            forced(budget(2_000)),
            "reasoning_budget dropped, reasoning:1 dropped",
        ),
        // Thinking goes on in another form.
        (
            "claude-sonnet-4-6",
            budget(2_000),
            "reasoning_budget dropped",
        ),
        ("claude-opus-4-8", budget(2_000), "reasoning_budget dropped"),
        // Nothing was turned off.
        (OLD, Request::user("hi"), ""),
    ];
    for (model, mut request, expected) in rows {
        request.edit().messages.extend(turn.clone());
        let (mut request, notes) = request.recording_changes();
        fit_thinking(&mut request, ClaudeModel::parse(model).unwrap());
        let notes: Vec<String> = notes.take().iter().map(ToString::to_string).collect();
        assert_eq!(notes.join(", "), expected, "{model}");
        let parts = request.prompt().messages.iter().flat_map(|m| &m.parts);
        let thoughts = parts.filter(|part| matches!(part, Part::Reasoning(_)));
        let kept = if expected.contains("reasoning:1") {
            1
        } else {
            2
        };
        assert_eq!(thoughts.count(), kept, "{model}: earlier turns keep theirs");
    }
}

#[test]
fn unsigned_reasoning_is_not_sent_back() {
    let reasoning = |signature: &str| {
        let native = Native::new(Protocol::Messages.dialect());
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            native: native
                .with("signature", Json::string(signature))
                .into_option(),
        })
    };
    let mut message = Message::assistant(reasoning(""));
    message.parts.push(reasoning("abc"));
    let (mut request, notes) = Request::user("hi").message(message).recording_changes();
    strip_unsigned(&mut request);
    assert_eq!(request.prompt().messages[1].parts, [reasoning("abc")]);
    assert_eq!(notes.take()[0].to_string(), "reasoning:1 dropped");

    let before = request.clone();
    strip_unsigned(&mut request);
    assert!(
        request.same_prompt(&before),
        "nothing to strip, so nothing is edited"
    );
}

#[test]
fn a_budget_stays_between_the_least_one_and_the_output_limit() {
    const OLD: &str = "claude-sonnet-4-5";
    let rows = [
        (OLD, 512, None, Some(1_024), "reasoning_budget raised"),
        (
            OLD,
            512,
            Some(4_000),
            Some(1_024),
            "reasoning_budget raised",
        ),
        (OLD, 512, Some(300), None, "reasoning_budget dropped"),
        (
            OLD,
            9_000,
            Some(9_000),
            Some(4_500),
            "reasoning_budget lowered",
        ),
        (OLD, 9_000, Some(9_001), Some(9_000), ""),
        (
            OLD,
            9_000,
            Some(1_500),
            Some(1_024),
            "reasoning_budget lowered",
        ),
        (OLD, 9_000, Some(1_024), None, "reasoning_budget dropped"),
        (
            "claude-opus-4-6",
            512,
            None,
            Some(1_024),
            "reasoning_budget raised",
        ),
    ];
    for (model, tokens, limit, expected, note) in rows {
        let mut request = budget(tokens);
        request.edit().max_tokens = limit;
        let (effort, found, notes) = fitted(model, request);
        assert_eq!((effort, found), (None, expected), "{tokens} {limit:?}");
        assert_eq!(notes.join(", "), note, "{tokens} {limit:?}");
    }
}

#[test]
fn a_messages_client_decides_its_own_budget() {
    let body = r#"{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":9000},
        "messages":[{"role":"user","content":"hi"}]}"#;
    let codec = Protocol::Messages.codec();
    let request = codec.read_request(body.into()).unwrap().request;
    let (_, found, notes) = fitted("claude-sonnet-4-5", request);
    assert_eq!(found, Some(9_000));
    assert!(notes.is_empty(), "{notes:?}");
}
