use majordomo_llm::{
    Dialect, Effort, File, Json, Message, Native, Opaque, Part, Reasoning, RemoteImage, Role, Text,
    Tool, ToolCall, ToolChoice, ToolResult,
};

use super::*;

const OTHER: Dialect = Dialect::new("anthropic-messages");

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "look", "{}")
}

fn foreign(name: &str) -> Option<Box<Native>> {
    Native::new(OTHER)
        .with(name, Json::string("s"))
        .into_option()
}

#[test]
fn a_plain_request_is_written_in_camel_case() {
    let request = Request::user("hi")
        .system("be terse")
        .tool(
            Tool::new("t")
                .description("d")
                .parameters(Json::parse(r#"{"b": 1}"#).unwrap()),
        )
        .tool_choice(ToolChoice::Named("t".into()))
        .schema(Json::parse("{}").unwrap(), "s")
        .max_tokens(9)
        .temperature(0.5)
        .effort(Effort::High)
        .stop("x");
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"#,
            r#""systemInstruction":{"parts":[{"text":"be terse"}]},"#,
            r#""tools":[{"functionDeclarations":[{"name":"t","description":"d","parametersJsonSchema":{"b": 1}}]}],"#,
            r#""toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["t"]}},"#,
            r#""generationConfig":{"maxOutputTokens":9,"temperature":0.5,"stopSequences":["x"],"#,
            r#""responseMimeType":"application/json","responseJsonSchema":{},"thinkingConfig":{"thinkingLevel":"HIGH"}}}"#
        )
    );
    assert_eq!(losses, ["output.name"]);
}

#[test]
fn system_messages_are_folded_into_the_instructions_wherever_they_stand() {
    let request = Request::from(vec![
        Message::system("a"),
        Message::user("b"),
        Message::assistant("c"),
        Message::system("d"),
        Message::user("e"),
    ])
    .system("first");
    let written = Gemini.write_request(&request, &Outgoing::new("gemini-3-pro"));
    assert_eq!(
        written.body,
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"b"}]},{"role":"model","parts":[{"text":"c"}]},"#,
            r#"{"role":"user","parts":[{"text":"e"}]}],"#,
            r#""systemInstruction":{"parts":[{"text":"first"},{"text":"a"},{"text":"d"}]}}"#
        )
    );
    let changes: Vec<String> = written
        .losses
        .into_iter()
        .map(|loss| majordomo_llm::Change::from(loss).to_string())
        .collect();
    assert_eq!(changes, ["system folded"]);
    let leading = Request::from(vec![Message::system("a"), Message::user("b")]);
    assert!(write(&leading).1.is_empty());
}

#[test]
fn tool_results_of_one_turn_share_one_content_with_names_and_ids() {
    let mut nameless = ToolResult::new(&call("b"), "2");
    nameless.name = None;
    let request = Request::from(vec![
        Message::new(
            Role::Assistant,
            vec![Part::ToolCall(call("a")), Part::ToolCall(call("b"))],
        ),
        Message::tool_results_message([ToolResult::new(&call("a"), "1")]),
        Message::tool_results_message([nameless]),
        Message::user("so?"),
    ]);
    let (body, losses) = write(&request);
    assert!(
        body.contains(concat!(
            r#"{"role":"model","parts":["#,
            r#"{"functionCall":{"id":"a","name":"look","args":{}},"thoughtSignature":"skip_thought_signature_validator"},"#,
            r#"{"functionCall":{"id":"b","name":"look","args":{}}}]},"#,
            r#"{"role":"user","parts":["#,
            r#"{"functionResponse":{"id":"a","name":"look","response":{"output":"1"}}},"#,
            r#"{"functionResponse":{"id":"b","name":"look","response":{"output":"2"}}}]},"#,
            r#"{"role":"user","parts":[{"text":"so?"}]}"#
        )),
        "{body}"
    );
    assert!(losses.is_empty());
    let (older, _) = write_to(&request, "gemini-2.5-pro");
    assert!(
        !older.contains("thoughtSignature"),
        "only Gemini 3 requires one"
    );
}

#[test]
fn a_signature_stays_on_its_part() {
    let turn = concat!(
        r#"{"role":"model","parts":[{"text":"a"},{"text":"b","thoughtSignature":"b=="},{"text":"","thoughtSignature":"c=="},"#,
        r#"{"functionCall":{"id":"x","name":"t","args":{}},"thoughtSignature":"d=="},"#,
        r#"{"functionCall":{"id":"y","name":"t","args":{}}},"#,
        r#"{"text":"e","thought":true,"thoughtSignature":"e=="}]}"#
    );
    let (body, losses) = write(&Request::from(contents(turn).prompt().messages.clone()));
    assert_eq!(body, format!(r#"{{"contents":[{turn}]}}"#));
    assert!(losses.is_empty());
}

#[test]
fn the_placeholder_signature_is_dropped_when_read() {
    for signature in [
        "skip_thought_signature_validator",
        "context_engineering_is_the_way_to_go",
    ] {
        let request = contents(&format!(
            r#"{{"role":"model","parts":[{{"functionCall":{{"name":"t"}},"thoughtSignature":"{signature}"}}]}}"#
        ));
        assert_eq!(request.prompt().messages[0].parts[0].native(), None);
    }
}

#[test]
fn tool_images_are_written_inside_or_after_the_function_response() {
    let mut seen = ToolResult::new(&call("a"), "seen");
    seen.parts.push(Part::image("image/png", vec![1]));
    seen.parts.push(Part::RemoteImage(RemoteImage {
        url: "https://x.example/a.webp?b".into(),
        native: None,
    }));
    let request = Request::from(vec![Message::tool_results_message([seen])]);
    let inline = r#"{"inlineData":{"mimeType":"image/png","data":"AQ=="}}"#;
    let link = r#"{"fileData":{"mimeType":"image/webp","fileUri":"https://x.example/a.webp?b"}}"#;
    let (body, losses) = write_to(&request, "gemini-3-flash");
    assert!(
        body.contains(&format!(
            r#""response":{{"output":"seen"}},"parts":[{inline},{link}]}}}}]}}"#
        )),
        "{body}"
    );
    assert!(losses.is_empty());
    let (body, losses) = write_to(&request, "models/gemini-2.5-flash");
    assert!(
        body.contains(&format!(
            r#""response":{{"output":"seen"}}}}}},{inline},{link}]}}"#
        )),
        "{body}"
    );
    assert!(losses.is_empty());
}

#[test]
fn a_failed_tool_result_is_written_as_error() {
    let failed = ToolResult::error(&call("a"), "no such file");
    let (body, losses) = write(&Request::from(vec![Message::tool_results_message([
        failed,
    ])]));
    assert!(
        body.contains(r#""response":{"error":"no such file"}"#),
        "{body}"
    );
    assert!(losses.is_empty());
}

#[test]
fn unrepresentable_tool_results_are_reported_as_losses() {
    let mut result = ToolResult::new(&call("a"), "1");
    result.parts.insert(0, Part::image("image/png", vec![1]));
    result.parts.push(Part::text("2"));
    result.parts.push(Part::ToolCall(call("b")));
    let (body, losses) = write(&Request::from(vec![Message::tool_results_message([
        result,
    ])]));
    assert!(body.contains(r#""response":{"output":"1\n2"}"#), "{body}");
    assert_eq!(
        losses,
        ["tool_result.text", "tool_result.order", "tool_call"]
    );
}

#[test]
fn arguments_are_always_written_as_an_object() {
    let rows = [
        ("", r#""args":{}"#, false),
        (r#" {"a": 1} "#, r#""args":{"a": 1}"#, false),
        ("[1]", r#""args":{"arguments":"[1]"}"#, true),
        (r#"{"a":"#, r#""args":{"arguments":"{\"a\":"}"#, true),
    ];
    for (arguments, expected, lost) in rows {
        let part = Part::ToolCall(ToolCall::new("a", "t", arguments));
        let (body, losses) = write(&Request::from(vec![Message::assistant(part)]));
        assert!(body.contains(expected), "{body}");
        assert_eq!(!losses.is_empty(), lost, "{arguments}");
    }
}

#[test]
fn content_of_another_dialect_is_reported_as_a_loss() {
    let mut text = Text::new("hi");
    text.native = foreign("cache_control");
    let mut request = Request::from(vec![
        Message::new(
            Role::User,
            vec![
                Part::Text(text),
                Part::File(File {
                    media_type: "application/pdf".into(),
                    data: Bytes::new(),
                    name: None,
                    native: foreign("title"),
                }),
                Part::Opaque(Opaque::new(OTHER, "document", Json::string("x"))),
            ],
        ),
        Message::assistant(Part::Reasoning(Reasoning {
            text: "hm".into(),
            native: foreign("signature"),
        })),
        Message::assistant(Part::Refusal(Text::new("no"))),
    ])
    .tool(Tool {
        strict: Some(true),
        ..Tool::new("t")
    });
    let prompt = request.edit();
    prompt
        .hosted_tools
        .push(Opaque::new(OTHER, "web_search", Json::string("x")));
    prompt.parallel_tool_calls = Some(false);
    prompt.cache_key = Some("k".into());
    prompt.user = Some("u".into());
    prompt.native = foreign("thinking");
    let (body, mut losses) = write(&request);
    losses.sort();
    assert_eq!(
        losses,
        [
            "cache_control",
            "cache_key",
            "document",
            "file",
            "parallel_tool_calls",
            "reasoning",
            "refusal",
            "signature",
            "strict",
            "thinking",
            "tools.web_search",
            "user"
        ]
    );
    assert!(
        body.starts_with(concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},"#,
            r#"{"role":"model","parts":[{"text":"no"}]}],"#
        )),
        "a message without any parts left is omitted: {body}"
    );
}

#[test]
fn files_and_messages_without_content_are_written() {
    let file = Part::File(File {
        media_type: "application/pdf".into(),
        data: Bytes::from_static(&[1]),
        name: Some("a.pdf".into()),
        native: None,
    });
    let request = Request::from(vec![Message::new(Role::User, vec![]), Message::user(file)]);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":""}]},"#,
            r#"{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"AQ==","displayName":"a.pdf"}}]}]}"#
        )
    );
    assert!(losses.is_empty());
}

#[test]
fn effort_is_written_for_each_model_generation() {
    use Effort::{High, Low, Max, Medium, Minimal, None as Off, XHigh};
    let rows = [
        ("gemini-3.8-flash", Off, r#"{"thinkingLevel":"LOW"}"#, true),
        (
            "gemini-3.8-flash",
            Minimal,
            r#"{"thinkingLevel":"LOW"}"#,
            true,
        ),
        (
            "gemini-3.5-flash-lite",
            Off,
            r#"{"thinkingLevel":"MINIMAL"}"#,
            true,
        ),
        (
            "gemini-3.5-flash-lite",
            Minimal,
            r#"{"thinkingLevel":"MINIMAL"}"#,
            false,
        ),
        ("gemini-3.8-flash", Low, r#"{"thinkingLevel":"LOW"}"#, false),
        (
            "gemini-3.8-flash",
            Medium,
            r#"{"thinkingLevel":"MEDIUM"}"#,
            false,
        ),
        (
            "gemini-3.8-flash",
            High,
            r#"{"thinkingLevel":"HIGH"}"#,
            false,
        ),
        (
            "gemini-3.8-flash",
            XHigh,
            r#"{"thinkingLevel":"HIGH"}"#,
            true,
        ),
        ("gemini-3.8-flash", Max, r#"{"thinkingLevel":"HIGH"}"#, true),
        ("gemini-2.5-flash", Off, r#"{"thinkingBudget":0}"#, false),
        ("gemini-2.5-pro", Off, r#"{"thinkingBudget":128}"#, true),
        (
            "gemini-2.5-flash",
            Medium,
            r#"{"thinkingBudget":8192}"#,
            true,
        ),
    ];
    for (model, effort, expected, lost) in rows {
        let (body, losses) = write_to(&Request::user("x").effort(effort), model);
        assert!(
            body.contains(&format!(r#""thinkingConfig":{expected}"#)),
            "{body}"
        );
        assert_eq!(!losses.is_empty(), lost, "{model} {effort:?}");
    }
    let (body, losses) = write_to(&Request::user("x").effort(High), "gemini-2.0-flash");
    assert!(!body.contains("thinkingConfig"), "{body}");
    assert_eq!(losses, ["effort"]);
}

#[test]
fn a_budget_and_a_level_are_never_written_together() {
    let mut request = Request::user("x").effort(Effort::High);
    request.edit().reasoning_budget = Some(512);
    let (body, losses) = write_to(&request, "gemini-3-pro");
    assert!(
        body.contains(r#""thinkingConfig":{"thinkingLevel":"HIGH"}"#),
        "{body}"
    );
    assert_eq!(losses, ["reasoning_budget"]);
    let (body, losses) = write_to(&request, "gemini-2.5-pro");
    assert!(
        body.contains(r#""thinkingConfig":{"thinkingBudget":512}"#),
        "{body}"
    );
    assert_eq!(losses, ["effort"]);
}
