//! Values survive being written and read back.

use majordomo_llm::{
    Effort, File, Json, Message, OutputFormat, OutputSchema, Part, Prompt, RemoteImage, Role, Text,
    Tool, ToolCall, ToolChoice, ToolResult, Usage,
};
use proptest::prelude::*;

use super::*;

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "look", r#"{"at": "sea"}"#)
}

fn image(byte: u8) -> Part {
    Part::image("image/png", vec![byte; 5])
}

fn remote(url: &str) -> Part {
    Part::RemoteImage(RemoteImage {
        url: url.into(),
        native: None,
    })
}

fn messages(messages: Vec<Message>) -> Prompt {
    Prompt {
        messages,
        ..Prompt::default()
    }
}

fn with(change: impl FnOnce(&mut Prompt)) -> Prompt {
    let mut prompt = messages(vec![Message::user("hi")]);
    change(&mut prompt);
    prompt
}

fn offered(choice: ToolChoice) -> Prompt {
    with(|prompt| {
        prompt.tools = vec![
            Tool::new("look")
                .description("Looks.")
                .parameters(Json::parse(r#"{"type": "object"}"#).unwrap()),
            Tool::new("rest"),
        ];
        prompt.tool_choice = choice;
    })
}

fn conversations() -> Vec<(&'static str, Prompt)> {
    let results = |results: Vec<ToolResult>| Message::tool_results_message(results);
    let mut seen = ToolResult::new(&call("b"), "seen");
    seen.parts.extend([image(1), remote("https://x.example/a")]);
    let mut mute = ToolResult::new(&call("a"), "");
    mute.parts = vec![image(2)];
    let mut silent = ToolResult::new(&call("a"), "");
    silent.parts.clear();
    let both = vec![
        Part::text("Let me see."),
        Part::ToolCall(call("a")),
        Part::ToolCall(call("b")),
    ];
    let turn = Message::new(Role::Assistant, both);
    let schema = OutputSchema {
        schema: Json::parse(r#"{"type": "object", "x": 1.0}"#).unwrap(),
        name: None,
        strict: None,
    };
    let file = Part::File(File {
        media_type: "application/pdf".into(),
        data: Bytes::from_static(b"%PDF"),
        name: Some("a.pdf".into()),
        native: Some(Box::new(
            majordomo_llm::Native::new(crate::gemini::GEMINI)
                .with("field", Json::string("inlineData")),
        )),
    });
    vec![
        ("text", with(|_| {})),
        (
            "system",
            with(|p| p.system = vec![Text::new("a"), Text::new("b")]),
        ),
        (
            "turns",
            messages(vec![
                Message::user("a"),
                Message::assistant("b"),
                Message::user("c"),
                Message::user("d"),
            ]),
        ),
        (
            "an empty message",
            messages(vec![Message::new(Role::User, vec![])]),
        ),
        (
            "unicode",
            messages(vec![Message::user("é\u{1f600}\u{0}\"\\\n\u{2028}")]),
        ),
        (
            "images",
            messages(vec![Message::new(
                Role::User,
                vec![
                    Part::text("see"),
                    image(0),
                    remote("https://x.example/a.png"),
                    remote("https://x.example/a"),
                ],
            )]),
        ),
        ("a file", messages(vec![Message::user(file)])),
        (
            "parallel calls",
            messages(vec![
                turn.clone(),
                results(vec![ToolResult::new(&call("a"), "x"), seen]),
                Message::user("so?"),
            ]),
        ),
        (
            "failed, mute and silent tools",
            messages(vec![
                Message::new(
                    Role::Assistant,
                    vec![
                        Part::ToolCall(call("a")),
                        Part::ToolCall(call("c")),
                        Part::ToolCall(call("d")),
                    ],
                ),
                results(vec![
                    ToolResult::error(&call("c"), "no {\"such\": 1} thing"),
                    mute,
                    ToolResult {
                        call_id: "d".into(),
                        ..silent
                    },
                ]),
            ]),
        ),
        (
            "JSON of a tool",
            messages(vec![
                Message::assistant(Part::ToolCall(call("a"))),
                results(vec![ToolResult::new(&call("a"), r#"{"output": "x"}"#)]),
            ]),
        ),
        ("auto", offered(ToolChoice::Auto)),
        ("none", offered(ToolChoice::None)),
        ("required", offered(ToolChoice::Required)),
        ("named", offered(ToolChoice::Named("rest".into()))),
        ("JSON", with(|p| p.output = OutputFormat::Json)),
        (
            "a schema",
            with(|p| p.output = OutputFormat::Schema(schema)),
        ),
        (
            "settings",
            with(|p| {
                p.max_tokens = Some(9);
                p.temperature = Some(0.1);
                p.top_p = Some(0.25);
                p.top_k = Some(4);
                p.presence_penalty = Some(-1.5);
                p.frequency_penalty = Some(0.5);
                p.seed = Some(-3);
                p.stop = vec!["a".into(), String::new()];
            }),
        ),
        ("low effort", with(|p| p.effort = Some(Effort::Low))),
        ("medium effort", with(|p| p.effort = Some(Effort::Medium))),
        ("high effort", with(|p| p.effort = Some(Effort::High))),
        ("a budget", with(|p| p.reasoning_budget = Some(2_048))),
    ]
}

#[test]
fn requests_round_trip() {
    for (name, prompt) in conversations() {
        let (body, losses) = write(&Request::from(prompt.clone()));
        assert!(losses.is_empty(), "{name}: {losses:?}");
        assert_eq!(*read(&body).request.prompt(), prompt, "{name}: {body}");
    }
}

/// Responses of every kind, as read from this dialect.
fn responses() -> Vec<Response> {
    let usage = Usage::new(10, 8).with_cache_read(3).with_reasoning(5);
    let bodies = [
        r#"{"text":"hi"}"#,
        r#"{"text":"hm","thought":true},{"text":"hi","thoughtSignature":"c2ln"}"#,
        r#"{"text":"hm","thought":true,"thoughtSignature":"c2ln"},{"functionCall":{"id":"a","name":"t","args":{"x": 1}},"thoughtSignature":"d=="},{"functionCall":{"id":"b","name":"t","args":{}}}"#,
        r#"{"inlineData":{"mimeType":"image/png","data":"AQ=="},"thought":true},{"executableCode":{"code":"1"}},{"text":"é\u0000"}"#,
        "",
    ];
    let body = |parts: &str| {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}]}},"finishReason":"STOP"}}]}}"#)
    };
    let read = |parts: &&str| Gemini.read_response(Bytes::from(body(parts)), 0).unwrap();
    let mut responses: Vec<Response> = bodies.iter().map(read).collect();
    for response in &mut responses {
        response.usage = usage;
        response.id = Some(reply().id);
        response.reported_model = Some(reply().model);
        response.raw = None;
    }
    responses
}

#[test]
fn responses_round_trip() {
    for response in responses() {
        let written = Gemini.write_response(&response, &reply());
        assert_eq!(written.losses, []);
        let mut again = Gemini.read_response(written.body, 0).unwrap();
        again.raw = None;
        assert_eq!(again, response);
    }
}

#[test]
fn streams_round_trip() {
    for response in responses() {
        let mut written = vec![Event::Usage(response.usage)];
        for (index, part) in response.parts.iter().enumerate() {
            match part {
                Part::ToolCall(call) => written.extend([
                    Event::ToolCallStart {
                        index,
                        id: Some(call.id.clone()),
                        name: call.name.clone(),
                        native: call.native.clone(),
                    },
                    Event::ToolCallArguments {
                        index,
                        fragment: call.arguments.clone(),
                    },
                    Event::ToolCallEnd { index },
                ]),
                part => written.push(Event::Part(part.clone())),
            }
        }
        written.push(Event::Finish(response.finish.clone()));
        let (text, losses) = stream(&written);
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(fold(&events(&text).unwrap()), response);
    }
}

proptest! {
    #[test]
    fn texts_round_trip_in_every_position(texts in prop::collection::vec(".{1,20}", 4)) {
        let mut prompt = messages(vec![
            Message::user(texts[0].as_str()),
            Message::assistant(texts[1].as_str()),
        ]);
        prompt.system = vec![Text::new(&texts[2])];
        let result = ToolResult::new(&call("a"), &texts[3]);
        prompt.messages.push(Message::assistant(Part::ToolCall(call("a"))));
        prompt.messages.push(Message::tool_results_message([result]));
        let (body, losses) = write(&Request::from(prompt.clone()));
        prop_assert!(losses.is_empty());
        let again = read(&body).request;
        prop_assert_eq!(again.prompt(), &prompt);
    }
}
