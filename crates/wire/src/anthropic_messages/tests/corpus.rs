//! Requests and responses that must survive a round trip.

use bytes::Bytes;
use majordomo_llm::{
    Effort, File, FinishReason, Image, Json, Message, Native, Opaque, OutputFormat, OutputSchema,
    Part, Prompt, Reasoning, RemoteImage, Role, Text, Tool, ToolCall, ToolChoice, ToolResult,
};

use super::MESSAGES;

fn own(name: &str, value: &str) -> Option<Box<Native>> {
    Native::new(MESSAGES)
        .with(name, Json::parse(value).unwrap())
        .into_option()
}

pub(super) fn signed(text: &str) -> Part {
    Part::Reasoning(Reasoning {
        text: text.into(),
        native: own("signature", "\"s\""),
    })
}

pub(super) fn hidden() -> Part {
    Part::Reasoning(Reasoning {
        text: String::new(),
        native: own("data", "\"d\""),
    })
}

pub(super) fn block(raw: &str) -> Part {
    Part::Opaque(Opaque::new(
        MESSAGES,
        "server_tool_use",
        Json::parse(raw).unwrap(),
    ))
}

pub(super) fn call(id: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, "look", arguments))
}

fn result(id: &str, parts: Vec<Part>, is_error: bool) -> ToolResult {
    ToolResult {
        call_id: id.into(),
        name: None,
        parts,
        is_error,
        native: None,
    }
}

fn image() -> Part {
    Part::Image(Image::new("image/png", vec![1, 2, 3]))
}

fn cached(text: &str) -> Text {
    Text {
        text: text.into(),
        native: own("cache_control", r#"{"type":"ephemeral"}"#),
    }
}

/// A request, and the losses of writing it.
pub(super) fn prompts() -> Vec<(&'static str, Prompt, &'static [&'static str])> {
    let tool =
        |name: &str| Tool::new(name).parameters(Json::parse(r#"{"type":"object"}"#).unwrap());
    let with = |change: &dyn Fn(&mut Prompt)| {
        let mut prompt = Prompt {
            messages: vec![Message::user("hi")],
            max_tokens: Some(9),
            ..Prompt::default()
        };
        change(&mut prompt);
        prompt
    };
    let from_messages = |messages: Vec<Message>| with(&|p| p.messages = messages.clone());
    let conversation = |parts: Vec<Part>, results: Vec<ToolResult>| {
        from_messages(vec![
            Message::user("hi"),
            Message::new(Role::Assistant, parts),
            Message::tool_results_message(results),
        ])
    };
    let chosen = |choice: ToolChoice| {
        with(&|p| {
            p.tools = vec![tool("a"), tool("b")];
            p.tool_choice = choice.clone();
        })
    };
    vec![
        ("text", with(&|_| {}), &[]),
        (
            "unicode",
            from_messages(vec![Message::user("é\u{1F600}\u{0}\"\\\n\u{2028}")]),
            &[],
        ),
        ("system", with(&|p| p.system = vec![Text::new("s")]), &[]),
        (
            "system blocks",
            with(&|p| p.system = vec![Text::new("s"), cached("t")]),
            &[],
        ),
        (
            "system in the middle",
            from_messages(vec![
                Message::user("a"),
                Message::system("b"),
                Message::assistant("c"),
                Message::user("d"),
            ]),
            &[],
        ),
        (
            "several turns",
            from_messages(vec![
                Message::user("a"),
                Message::assistant("b"),
                Message::user("c"),
            ]),
            &[],
        ),
        (
            "images",
            from_messages(vec![Message::new(
                Role::User,
                vec![
                    Part::text("see"),
                    image(),
                    Part::RemoteImage(RemoteImage {
                        url: "https://x.example/a.png".into(),
                        native: None,
                    }),
                    Part::Text(cached("end")),
                ],
            )]),
            &[],
        ),
        (
            "documents",
            from_messages(vec![Message::new(
                Role::User,
                vec![
                    Part::File(File {
                        media_type: "application/pdf".into(),
                        data: Bytes::from_static(&[1, 2]),
                        name: Some("a.pdf".into()),
                        native: own("field", "\"document\""),
                    }),
                    Part::File(File {
                        media_type: "text/plain".into(),
                        data: Bytes::from_static("é".as_bytes()),
                        name: None,
                        native: own("field", "\"document\""),
                    }),
                ],
            )]),
            &[],
        ),
        (
            "parallel calls",
            conversation(
                vec![
                    Part::text("let me see"),
                    call("a", r#"{"x": [1, 2.50]}"#),
                    call("b", "{}"),
                ],
                vec![
                    result("a", vec![Part::text("1")], false),
                    result("b", vec![Part::text("2")], false),
                ],
            ),
            &[],
        ),
        (
            "results with images, errors and nothing",
            conversation(
                vec![call("a", "{}"), call("b", "{}"), call("c", "{}")],
                vec![
                    result("a", vec![Part::text("1"), image()], false),
                    result("b", vec![Part::text("no such file")], true),
                    result("c", vec![], false),
                ],
            ),
            &[],
        ),
        (
            "foreign ids",
            conversation(
                vec![call("functions.look:0", "{}")],
                vec![result("functions.look:0", vec![Part::text("1")], false)],
            ),
            &[],
        ),
        (
            "arguments that are no object",
            conversation(vec![call("a", "oops")], vec![result("a", vec![], false)]),
            &["arguments"],
        ),
        (
            "reasoning with state, in its order",
            conversation(
                vec![
                    signed("hm"),
                    hidden(),
                    signed(""),
                    Part::text("x"),
                    call("a", "{}"),
                ],
                vec![result("a", vec![Part::text("1")], false)],
            ),
            &[],
        ),
        (
            "reasoning without state",
            from_messages(vec![
                Message::user("a"),
                Message::new(
                    Role::Assistant,
                    vec![Part::Reasoning(Reasoning::new("hm")), Part::text("x")],
                ),
            ]),
            &["reasoning"],
        ),
        (
            "blocks of the server",
            from_messages(vec![
                Message::user("a"),
                Message::new(
                    Role::Assistant,
                    vec![
                        block(r#"{"type":"server_tool_use","id":"s","input":{}}"#),
                        Part::text("x"),
                    ],
                ),
            ]),
            &[],
        ),
        (
            "structured output",
            with(&|p| {
                p.output = OutputFormat::Schema(OutputSchema {
                    schema: Json::parse(r#"{"type": "object"}"#).unwrap(),
                    name: None,
                    strict: None,
                });
            }),
            &[],
        ),
        (
            "a named and strict schema",
            with(&|p| {
                p.output = OutputFormat::Schema(OutputSchema {
                    schema: Json::parse("{}").unwrap(),
                    name: Some("n".into()),
                    strict: Some(true),
                });
            }),
            &["output.name", "output.strict"],
        ),
        (
            "any JSON",
            with(&|p| p.output = OutputFormat::Json),
            &["output"],
        ),
        ("choice auto", chosen(ToolChoice::Auto), &[]),
        ("choice none", chosen(ToolChoice::None), &[]),
        ("choice required", chosen(ToolChoice::Required), &[]),
        ("choice named", chosen(ToolChoice::Named("b".into())), &[]),
        (
            "one call at a time",
            with(&|p| {
                p.tools = vec![tool("a")];
                p.parallel_tool_calls = Some(false);
            }),
            &[],
        ),
        (
            "tools of every form",
            with(&|p| {
                p.tools = vec![Tool::new("none"), tool("strict").description("d")];
                p.tools[1].strict = Some(true);
                p.tools[1].native = own("defer_loading", "true");
                p.hosted_tools = vec![Opaque::new(
                    MESSAGES,
                    "bash_20250124",
                    Json::parse(r#"{"type":"bash_20250124","name":"bash"}"#).unwrap(),
                )];
            }),
            &[],
        ),
        ("effort", with(&|p| p.effort = Some(Effort::XHigh)), &[]),
        ("no effort", with(&|p| p.effort = Some(Effort::None)), &[]),
        (
            "minimal effort",
            with(&|p| p.effort = Some(Effort::Minimal)),
            &["effort"],
        ),
        (
            "budget and effort",
            with(&|p| {
                p.reasoning_budget = Some(2_048);
                p.effort = Some(Effort::Low);
            }),
            &[],
        ),
        (
            "sampling",
            with(&|p| {
                p.temperature = Some(0.3);
                p.top_p = Some(0.9);
                p.top_k = Some(5);
                p.stop = vec!["x".into(), "\n".into()];
            }),
            &[],
        ),
        (
            "user, cache and what only this dialect has",
            with(&|p| {
                p.user = Some("u".into());
                p.prompt_cache = true;
                p.native = Some(Box::new(
                    Native::new(MESSAGES)
                        .with("metadata.x", Json::string("y"))
                        .with("cache_control.ttl", Json::string("1h"))
                        .with(
                            "context_management",
                            Json::parse(r#"{"edits":[]}"#).unwrap(),
                        ),
                ));
            }),
            &[],
        ),
    ]
}

pub(super) fn responses() -> Vec<(&'static str, Vec<Part>, FinishReason)> {
    vec![
        ("text", vec![Part::text("x")], FinishReason::Stop),
        (
            "unicode",
            vec![Part::text("é\u{1F600}\u{0}\"\\\n")],
            FinishReason::Length,
        ),
        ("nothing", vec![], FinishReason::Stop),
        (
            "cited text and plain text",
            vec![
                Part::Text(Text {
                    text: "a".into(),
                    native: own("citations", r#"[{"n":1},{"n":2}]"#),
                }),
                Part::text("b"),
            ],
            FinishReason::StopSequence(Some("s".into())),
        ),
        (
            "reasoning with state and calls",
            vec![
                signed("hm"),
                hidden(),
                signed(""),
                Part::text("x"),
                call("a", r#"{"x": 1}"#),
                call("f.b:1", "{}"),
            ],
            FinishReason::ToolCalls,
        ),
        (
            "blocks of the server",
            vec![
                block(r#"{"type":"server_tool_use","id":"s","input":{"q": 1}}"#),
                Part::text("x"),
            ],
            FinishReason::Paused,
        ),
        (
            "a refusal",
            vec![Part::Refusal(Text {
                text: "no".into(),
                native: own(
                    "stop_details",
                    r#"{"type":"refusal","category":"bio","explanation":"no"}"#,
                ),
            })],
            FinishReason::Refusal,
        ),
    ]
}
