//! Conversations: texts, instructions, images, tools.

use majordomo_llm::{
    File, Message, Part, Prompt, RemoteImage, Role, Text, Tool, ToolCall, ToolResult,
};

use super::{JPEG, PNG, WEBP, png};

fn prompt_of(messages: Vec<Message>) -> Prompt {
    Prompt {
        messages,
        ..Prompt::default()
    }
}

fn user(parts: Vec<Part>) -> Message {
    Message::new(Role::User, parts)
}

fn assistant(parts: Vec<Part>) -> Message {
    Message::new(Role::Assistant, parts)
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

/// A conversation with a user message, calls, their results and the tools.
fn tools(calls: Vec<ToolCall>, results: Vec<ToolResult>) -> Prompt {
    let mut prompt = prompt_of(vec![
        Message::user("What is the weather?"),
        assistant(calls.iter().cloned().map(Part::ToolCall).collect()),
        Message::tool_results_message(results),
    ]);
    for call in &calls {
        if prompt.tools.iter().all(|tool| tool.name != call.name) {
            prompt.tools.push(Tool::new(&call.name));
        }
    }
    prompt
}

fn weather(id: &str) -> ToolCall {
    call(id, "get_weather", r#"{"city":"Paris"}"#)
}

/// One call and its result.
fn result(parts: Vec<Part>, is_error: bool) -> Prompt {
    let call = weather("call_1");
    let result = ToolResult {
        parts,
        is_error,
        ..ToolResult::new(&call, "")
    };
    tools(vec![call], vec![result])
}

pub(super) fn all() -> Vec<(&'static str, Prompt)> {
    let mut all = texts();
    all.extend(instructions());
    all.extend(images());
    all.extend(calls());
    all.extend(results());
    all
}

fn texts() -> Vec<(&'static str, Prompt)> {
    let hi = || Message::user("hi");
    vec![
        ("a text", prompt_of(vec![hi()])),
        (
            "a text of many scripts",
            prompt_of(vec![Message::user(
                "Grüße 你好 שלום 👩‍👩‍👧 e\u{301} \u{2028}\u{feff} 𝄞",
            )]),
        ),
        (
            "a text full of escapes",
            prompt_of(vec![Message::user(
                "\"quoted\" \\back\\ \t\r\n {\"a\": [1]} \u{1}\u{7f} </s> data: [DONE]\n\nevent: x",
            )]),
        ),
        (
            "several texts",
            prompt_of(vec![user(vec!["one".into(), "two".into()])]),
        ),
        (
            "several turns",
            prompt_of(vec![
                hi(),
                Message::assistant("hello"),
                Message::user("how are you?"),
                Message::assistant("well"),
                Message::user("good"),
            ]),
        ),
        (
            "consecutive messages of one side",
            prompt_of(vec![
                hi(),
                Message::user("anyone?"),
                Message::assistant("yes"),
                Message::assistant("I am"),
                Message::user("ah"),
            ]),
        ),
        (
            "an empty text next to another",
            prompt_of(vec![
                user(vec!["".into(), "hi".into()]),
                Message::assistant(""),
                hi(),
            ]),
        ),
        (
            "whitespace next to another text",
            prompt_of(vec![user(vec![" \n".into(), "hi".into()])]),
        ),
        (
            "a prefilled assistant message",
            prompt_of(vec![hi(), Message::assistant("Hello, my")]),
        ),
        (
            "a refusal in the history",
            prompt_of(vec![
                hi(),
                Message::assistant(Part::Refusal(Text::new("I would rather not."))),
                hi(),
            ]),
        ),
    ]
}

fn instructions() -> Vec<(&'static str, Prompt)> {
    let with = |system: &[&str], messages: Vec<Message>| Prompt {
        system: system.iter().map(|text| Text::new(*text)).collect(),
        ..prompt_of(messages)
    };
    let hi = || Message::user("hi");
    vec![
        ("instructions", with(&["Be terse."], vec![hi()])),
        (
            "instructions in several texts",
            with(&["Be terse.", "Be kind."], vec![hi()]),
        ),
        (
            "instructions as the first message",
            with(&[], vec![Message::system("Be terse."), hi()]),
        ),
        (
            "instructions in both places",
            with(&["Be terse."], vec![Message::system("Be kind."), hi()]),
        ),
        (
            "instructions in the middle",
            with(
                &["Be terse."],
                vec![
                    hi(),
                    Message::assistant("hello"),
                    Message::system("Be kind from now on."),
                    Message::user("go on"),
                ],
            ),
        ),
    ]
}

fn images() -> Vec<(&'static str, Prompt)> {
    let remote = Part::RemoteImage(RemoteImage {
        url: "https://example.org/cat.png".into(),
        native: None,
    });
    let file = Part::File(File {
        media_type: "application/pdf".into(),
        data: b"%PDF-1.7".as_slice().into(),
        name: Some("paper.pdf".into()),
        native: None,
    });
    vec![
        ("an image", prompt_of(vec![user(vec![png()])])),
        (
            "an image after its question",
            prompt_of(vec![user(vec!["What is it?".into(), png()])]),
        ),
        (
            "an image before its question",
            prompt_of(vec![user(vec![png(), "What is it?".into()])]),
        ),
        (
            "images between texts",
            prompt_of(vec![user(vec![
                "one".into(),
                png(),
                "two".into(),
                Part::image("image/jpeg", JPEG),
                "which?".into(),
            ])]),
        ),
        (
            "images of several types",
            prompt_of(vec![user(vec![
                "see".into(),
                Part::image("image/png", PNG),
                Part::image("image/jpeg", JPEG),
                Part::image("image/webp", WEBP),
                Part::image("image/gif", b"GIF89a\x01\0\x01\0".as_slice()),
            ])]),
        ),
        (
            "images in several turns",
            prompt_of(vec![
                user(vec!["one".into(), png()]),
                Message::assistant("a cat"),
                user(vec!["two".into(), Part::image("image/jpeg", JPEG)]),
            ]),
        ),
        (
            "an image by URL",
            prompt_of(vec![user(vec!["What is it?".into(), remote])]),
        ),
        (
            "a document",
            prompt_of(vec![user(vec!["Read this.".into(), file])]),
        ),
    ]
}

fn calls() -> Vec<(&'static str, Prompt)> {
    let (paris, time) = (
        weather("call_1"),
        call("call_2", "get_time", r#"{"zone":"CET"}"#),
    );
    let sunny = |call: &ToolCall| ToolResult::new(call, "sunny");
    let noon = |call: &ToolCall| ToolResult::new(call, "noon");
    let unicode = call(
        "call_1",
        "write",
        r#"{"text":"Grüße \"👋\"\n","deep":{"list":[1,2.5,null,true,{}],"empty":[]}}"#,
    );
    let mut with_text = tools(vec![paris.clone()], vec![sunny(&paris)]);
    with_text.messages[1].parts.insert(0, "Let me look.".into());
    let mut goes_on = tools(vec![paris.clone()], vec![sunny(&paris)]);
    goes_on
        .messages
        .push(Message::assistant(Part::ToolCall(time.clone())));
    goes_on
        .messages
        .push(Message::tool_results_message([noon(&time)]));
    goes_on.messages.push(Message::assistant("Sunny at noon."));
    goes_on.messages.push(Message::user("thanks"));
    goes_on.tools.push(Tool::new("get_time"));
    let mut apart = tools(vec![paris.clone(), time.clone()], vec![sunny(&paris)]);
    apart
        .messages
        .push(Message::tool_results_message([noon(&time)]));
    let mut said_after = tools(vec![paris.clone()], vec![sunny(&paris)]);
    said_after.messages.push(Message::user("And tomorrow?"));
    let strange = call("functions.get_weather:0", "get_weather", "{}");
    vec![
        (
            "a tool call",
            tools(vec![paris.clone()], vec![sunny(&paris)]),
        ),
        (
            "parallel tool calls",
            tools(
                vec![paris.clone(), time.clone()],
                vec![sunny(&paris), noon(&time)],
            ),
        ),
        (
            "parallel calls of one tool",
            tools(
                vec![weather("call_1"), weather("call_2")],
                vec![sunny(&weather("call_1")), noon(&weather("call_2"))],
            ),
        ),
        (
            "results in a different order than their calls",
            tools(
                vec![paris.clone(), time.clone()],
                vec![noon(&time), sunny(&paris)],
            ),
        ),
        ("results in several messages", apart),
        ("a text before a tool call", with_text),
        ("tool calls in several turns", goes_on),
        ("a text after a tool result", said_after),
        (
            "a tool call without arguments",
            tools(
                vec![call("call_1", "now", "")],
                vec![sunny(&call("call_1", "now", ""))],
            ),
        ),
        (
            "nested arguments of many scripts",
            tools(vec![unicode.clone()], vec![sunny(&unicode)]),
        ),
        (
            "a call id that not every server accepts",
            tools(vec![strange.clone()], vec![sunny(&strange)]),
        ),
    ]
}

fn results() -> Vec<(&'static str, Prompt)> {
    vec![
        (
            "a tool result of several texts",
            result(vec!["one".into(), "two".into()], false),
        ),
        ("an empty tool result", result(vec![], false)),
        (
            "a tool that failed",
            result(vec!["no such city".into()], true),
        ),
        (
            "a tool result with an image",
            result(vec!["see".into(), png()], false),
        ),
        ("a tool result that is an image", result(vec![png()], false)),
        (
            "a tool result of many scripts",
            result(vec!["{\"t\": \"21°C\"}\n☀️".into()], false),
        ),
    ]
}
