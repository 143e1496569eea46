//! One request per feature.

use majordomo_llm::{
    Effort, Json, Message, Part, Reasoning, Request, Tool, ToolCall, ToolChoice, ToolResult,
};

/// A PNG of one pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89,
];

fn look() -> Tool {
    let schema = r#"{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}"#;
    Tool::new("look")
        .description("Looks at something.")
        .parameters(Json::parse(schema).expect("a schema"))
}

/// A conversation with a tool call and its result.
fn with_results(failed: bool) -> Request {
    let call = ToolCall::new("call_0", "look", r#"{"at":"sky"}"#);
    let mut result = ToolResult::new(&call, "blue");
    result.is_error = failed;
    Request::user("Which colour?")
        .tool(look())
        .message(Message::assistant(Part::ToolCall(call)))
        .message(Message::tool_results_message([result]))
}

/// A conversation with an image in a tool result.
fn with_shown_picture() -> Request {
    let call = ToolCall::new("call_0", "look", r#"{"at":"sky"}"#);
    let mut result = ToolResult::new(&call, "blue");
    result.parts.push(Part::image("image/png", PNG));
    Request::user("Which colour?")
        .tool(look())
        .message(Message::assistant(Part::ToolCall(call)))
        .message(Message::tool_results_message([result]))
}

/// A conversation with two parallel tool calls.
fn with_parallel_calls() -> Request {
    let sky = ToolCall::new("call_0", "look", r#"{"at":"sky"}"#);
    let sea = ToolCall::new("call_1", "look", r#"{"at":"sea"}"#);
    let results = [
        ToolResult::new(&sky, "blue"),
        ToolResult::new(&sea, "green"),
    ];
    let calls = Message {
        parts: vec![Part::ToolCall(sky), Part::ToolCall(sea)],
        ..Message::assistant(Part::text(""))
    };
    Request::user("Which colours?")
        .tool(look())
        .message(calls)
        .message(Message::tool_results_message(results))
}

fn edited(change: impl FnOnce(&mut majordomo_llm::Prompt)) -> Request {
    let mut request = Request::user("hi");
    change(request.edit());
    request
}

/// The features, each with a request that uses it.
pub(crate) fn all() -> Vec<(&'static str, Request)> {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    let schema = Json::parse(schema).expect("a schema");
    let earlier = Message::assistant(Part::text("hello"));
    let thought = Message {
        parts: vec![
            Part::Reasoning(Reasoning::new("They greet me.")),
            Part::text("hello"),
        ],
        ..earlier.clone()
    };
    vec![
        ("plain", Request::user("hi")),
        ("stream", Request::user("hi")),
        ("system", Request::user("hi").system("Be brief.")),
        (
            "history",
            Request::user("hi")
                .message(earlier)
                .message(Message::user("and you?")),
        ),
        (
            "foreign reasoning",
            Request::user("hi")
                .message(thought)
                .message(Message::user("and you?")),
        ),
        (
            "image",
            Request::user("What is it?").part(Part::image("image/png", PNG)),
        ),
        ("tools", Request::user("Which colour?").tool(look())),
        (
            "tools required",
            Request::user("Which colour?")
                .tool(look())
                .tool_choice(ToolChoice::Required),
        ),
        (
            "one tool named",
            Request::user("Which colour?")
                .tool(look())
                .tool_choice(ToolChoice::Named("look".into())),
        ),
        (
            "tools forbidden",
            Request::user("Which colour?")
                .tool(look())
                .tool_choice(ToolChoice::None),
        ),
        ("tool results", with_results(false)),
        ("tool failure", with_results(true)),
        ("tool result with an image", with_shown_picture()),
        ("parallel calls", with_parallel_calls()),
        (
            "schema",
            Request::user("A number.").schema(schema, "number"),
        ),
        (
            "json",
            edited(|prompt| prompt.output = majordomo_llm::OutputFormat::Json),
        ),
        ("limit", Request::user("hi").max_tokens(100)),
        (
            "sampling",
            edited(|prompt| {
                prompt.temperature = Some(0.5);
                prompt.top_p = Some(0.9);
                prompt.top_k = Some(40);
                prompt.seed = Some(7);
                prompt.presence_penalty = Some(0.25);
                prompt.frequency_penalty = Some(0.25);
            }),
        ),
        ("stop", Request::user("hi").stop("END")),
        ("no effort", Request::user("hi").effort(Effort::None)),
        ("low effort", Request::user("hi").effort(Effort::Low)),
        ("highest effort", Request::user("hi").effort(Effort::Max)),
        (
            "reasoning budget",
            edited(|prompt| prompt.reasoning_budget = Some(2_048)),
        ),
        ("prompt cache", Request::user("hi").prompt_cache(true)),
        ("user", edited(|prompt| prompt.user = Some("u-1".into()))),
    ]
}
