use majordomo_llm::{
    Dialect, Effort, File, Json, Message, Native, Opaque, Part, Reasoning, RemoteImage, Request,
    Role, Text, Tool, ToolCall, ToolChoice, ToolResult,
};

use super::*;
use crate::ollama::{OllamaTarget, ThinkSupport};

const OTHER: Dialect = Dialect::new("anthropic-messages");

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "look", "{}")
}

fn to(target: OllamaTarget) -> Outgoing<'static> {
    Outgoing {
        ollama: target,
        ..Outgoing::new("m")
    }
}

#[test]
fn a_plain_request_uses_the_common_subset() {
    let request = Request::user("hi")
        .system("be terse")
        .tool(Tool::new("t").parameters(Json::parse(r#"{"b": 1}"#).unwrap()))
        .schema(Json::parse("{}").unwrap(), "s")
        .max_tokens(9)
        .temperature(0.5)
        .effort(Effort::High)
        .stop("x");
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"be terse"},{"role":"user","content":"hi"}],"#,
            r#""tools":[{"type":"function","function":{"name":"t","parameters":{"b": 1}}}],"format":{},"think":"high","#,
            r#""options":{"num_predict":9,"temperature":0.5,"stop":["x"]},"stream":false}"#
        )
    );
    assert_eq!(losses, ["output.name"]);
}

#[test]
fn all_instructions_become_the_first_message() {
    let mut request = Request::user("hi")
        .message(Message::system("second"))
        .message(Message::assistant("yes"))
        .message(Message::system("third"));
    request.edit().system = vec![Text::new("zeroth"), Text::new("first")];
    let (body, losses) = write(&request);
    assert!(
        body.contains(
            r#""messages":[{"role":"system","content":"zeroth\n\nfirst\n\nsecond\n\nthird"},{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]"#
        ),
        "{body}"
    );
    assert_eq!(losses, ["system"], "the move is reported");
}

#[test]
fn a_turn_with_tools_and_images_is_written_completely() {
    let mut seen = ToolResult::new(&call("a"), "seen");
    seen.parts.push(Part::image("image/png", PNG));
    let mut unnamed = ToolResult::error(&call("b"), "no such file");
    unnamed.name = None;
    let request = Request::from(vec![
        Message::new(
            Role::User,
            vec!["look".into(), Part::image("image/png", PNG), "now".into()],
        ),
        Message::new(
            Role::Assistant,
            vec![
                "I ".into(),
                "look".into(),
                Part::ToolCall(ToolCall::new("a", "look", "{\"x\":\n1}")),
                Part::ToolCall(ToolCall::new("b", "read", "broken {")),
                Part::ToolCall(ToolCall::new("", "read", "")),
            ],
        ),
        Message::tool_results_message([seen, unnamed]),
    ]);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        [
            r#"{"model":"m","messages":[{"role":"user","content":"look\n\nnow","images":["iVBORw0KGgo="]},"#,
            r#"{"role":"assistant","content":"I look","tool_calls":[{"id":"a","function":{"name":"look","arguments":{"x":"#,
            "\n",
            r#"1}}},{"id":"b","function":{"name":"read","arguments":{"arguments":"broken {"}}},{"id":"call_2","function":{"name":"read","arguments":{}}}]},"#,
            r#"{"role":"tool","content":"seen","images":["iVBORw0KGgo="],"tool_name":"look","tool_call_id":"a"},"#,
            r#"{"role":"tool","content":"ERROR: no such file","tool_name":"read","tool_call_id":"b"}],"stream":false}"#,
        ]
        .concat()
    );
    assert_eq!(losses, ["order", "arguments", "is_error"]);
}

#[test]
fn a_forced_tool_choice_is_listed_and_none_omits_the_tools() {
    let choose = |choice| {
        let (body, losses) = write(&Request::user("x").tool(Tool::new("t")).tool_choice(choice));
        (body.contains("\"tools\""), losses)
    };
    assert_eq!(choose(ToolChoice::Auto), (true, vec![]));
    assert_eq!(choose(ToolChoice::None), (false, vec!["tools".to_owned()]));
    for forced in [ToolChoice::Required, ToolChoice::Named("t".into())] {
        let listed = ["tool_choice", "output"].map(str::to_owned);
        assert_eq!(choose(forced), (true, listed.to_vec()));
    }
    let unknown = ToolChoice::Named("other".into());
    assert_eq!(choose(unknown), (true, vec!["tool_choice".to_owned()]));
}

#[test]
fn effort_becomes_the_closest_value_the_model_supports() {
    use ThinkSupport::{OnOff, Unsupported, UpToHigh, UpToMax};
    let rows = [
        (Effort::None, UpToMax, "false", false),
        (Effort::Minimal, UpToMax, "\"low\"", true),
        (Effort::Low, UpToMax, "\"low\"", false),
        (Effort::Medium, UpToMax, "\"medium\"", false),
        (Effort::XHigh, UpToMax, "\"max\"", true),
        (Effort::Max, UpToMax, "\"max\"", false),
        (Effort::Max, UpToHigh, "\"high\"", true),
        (Effort::Medium, OnOff, "true", false),
        (Effort::High, OnOff, "true", true),
        (Effort::None, OnOff, "false", false),
        (Effort::High, Unsupported, "", true),
        (Effort::None, Unsupported, "", false),
    ];
    for (effort, thinking, expected, lost) in rows {
        let target = OllamaTarget {
            thinking,
            ..OllamaTarget::default()
        };
        let request = Request::from(vec![]).effort(effort);
        let (body, losses) = write_to(&request, &to(target));
        let think = match expected {
            "" => String::new(),
            level => format!(r#","think":{level}"#),
        };
        assert_eq!(
            body,
            format!(r#"{{"model":"m","messages":[]{think},"stream":false}}"#)
        );
        assert_eq!(!losses.is_empty(), lost, "{effort:?} {thinking:?}");
    }
}

#[test]
fn content_of_another_dialect_is_reported_as_a_loss() {
    let foreign = |name: &str| {
        Native::new(OTHER)
            .with(name, Json::string("s"))
            .into_option()
    };
    let mut text = Text::new("hi");
    text.native = foreign("cache_control");
    let mut tool = Tool::new("t");
    tool.strict = Some(true);
    let mut request = Request::from(vec![
        Message::new(
            Role::User,
            vec![
                Part::Text(text),
                Part::RemoteImage(RemoteImage {
                    url: "https://x.example/a.png".into(),
                    native: None,
                }),
                Part::image("image/png", vec![1]),
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
    .tool(tool);
    let prompt = request.edit();
    prompt.parallel_tool_calls = Some(false);
    prompt.reasoning_budget = Some(5);
    prompt.cache_key = Some("k".into());
    prompt.user = Some("u".into());
    prompt.native = foreign("metadata");
    prompt
        .hosted_tools
        .push(Opaque::new(OTHER, "web_search", Json::string("x")));
    let (body, mut losses) = write(&request);
    losses.sort();
    assert_eq!(
        losses,
        [
            "cache_control",
            "cache_key",
            "document",
            "file",
            "image",
            "media_type",
            "metadata",
            "parallel_tool_calls",
            "reasoning",
            "reasoning_budget",
            "refusal",
            "signature",
            "strict",
            "title",
            "tools.web_search",
            "user"
        ]
    );
    assert!(body.contains("hi") && !body.contains("hm"), "{body}");
    assert!(
        body.contains(r#"{"role":"assistant","content":"no"}"#),
        "{body}"
    );
}

#[test]
fn reasoning_from_this_dialect_is_written_back() {
    let source = r#"{"model":"m","messages":[{"role":"assistant","content":"x","thinking":"hm"}],"stream":false}"#;
    let fresh = Request::from(read(source).request.prompt().messages.clone());
    assert_eq!(write(&fresh), (source.to_owned(), vec![]));
}

#[test]
fn the_target_adds_num_ctx_and_the_schema_instruction() {
    let target = OllamaTarget {
        num_ctx: Some(32_768),
        schema_in_words: true,
        ..OllamaTarget::default()
    };
    let instruction = r#"Answer with one JSON value that satisfies this JSON Schema, and with nothing else: no markdown, no code fence, no explanation.\n{\"a\":1}"#;
    let request = Request::user("hi").schema(Json::parse(r#"{"a":1}"#).unwrap(), "s");
    let (body, _) = write_to(&request, &to(target));
    assert_eq!(
        body,
        format!(
            r#"{{"model":"m","messages":[{{"role":"system","content":"{instruction}"}},{{"role":"user","content":"hi"}}],"format":{{"a":1}},"options":{{"num_ctx":32768}},"stream":false}}"#
        )
    );

    // They are spliced into a client's bytes, which are otherwise kept.
    let source = r#"{"model":"x", "messages":[ {"role":"system","content":"terse","x": 1}, {"role":"user",  "content":"hi"} ], "format":{"a":1}, "options": {"seed" : 1.0}, "stream":false}"#;
    let (body, losses) = write_to(&read(source).request, &to(target));
    assert_eq!(
        body,
        format!(
            r#"{{"model":"m", "messages":[{{"role":"system","content":"terse\n\n{instruction}","x":1}},{{"role":"user",  "content":"hi"}}], "format":{{"a":1}}, "options": {{"seed" : 1.0,"num_ctx":32768}}, "stream":false}}"#
        )
    );
    assert!(losses.is_empty());

    let own = r#"{"model":"m","messages":[],"options":{"num_ctx":1},"stream":false}"#;
    assert_eq!(write_to(&read(own).request, &to(target)).0, own);
}

#[test]
fn an_unchanged_request_keeps_its_bytes_except_model_and_stream() {
    let source = r#" { "model":"x" , "messages":[{"role":"user","content":"a"}], "think": true, "later":{"y" : null} }"#;
    let request = read(source).request;
    let stream = Outgoing::new("m").stream(true);
    assert_eq!(
        write_to(&request, &stream).0,
        source.replace("\"x\"", "\"m\"")
    );
    assert_eq!(
        write(&request).0,
        r#" { "model":"m" , "messages":[{"role":"user","content":"a"}], "think": true, "later":{"y" : null},"stream":false }"#
    );
}

#[test]
fn an_edited_request_keeps_all_other_bytes() {
    let source = format!(
        r#"{{ "think" : true, "model":"x", "messages": [
        {{"content":"see", "images":["{PNG_TEXT}"], "role":"user", "x":[ ]}},
        {{"role":"tool", "tool_name":"t", "content":"b", "images":["{PNG_TEXT}"]}},
        {{"role":"assistant",   "content":"c"}} ], "options":{{"num_ctx" : 8.0, "seed":1, "stop":["a"]}}, "stream":false}}"#
    );
    let mut request = read(&source).request;
    let prompt = request.edit();
    prompt.messages[0].parts[1] = Part::text("a described picture");
    let Part::ToolResult(result) = &mut prompt.messages[1].parts[0] else {
        panic!("not a tool result");
    };
    result.parts.push(Part::image("image/png", PNG));
    prompt.messages.push(Message::user("d"));
    prompt.max_tokens = Some(6);
    prompt.seed = None;
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{ "think" : true, "model":"m", "messages": [{"content":"see\n\na described picture", "role":"user", "x":[ ]},"#,
            r#"{"role":"tool", "tool_name":"t", "content":"b", "images":["iVBORw0KGgo=","iVBORw0KGgo="]},"#,
            r#"{"role":"assistant",   "content":"c"},{"role":"user","content":"d"}], "options":{"num_ctx" : 8.0, "stop":["a"],"num_predict":6}, "stream":false}"#
        )
    );
    assert!(losses.is_empty());
}

#[test]
fn an_edit_can_remove_and_add_fields() {
    let mut request = read(r#"{"format":"json","model":"x","messages":[],"stream":false}"#).request;
    request.edit().output = majordomo_llm::OutputFormat::Text;
    request.edit().top_k = Some(5);
    request.edit().system = vec![Text::new("terse")];
    assert_eq!(
        write(&request).0,
        r#"{"model":"m","messages":[{"role":"system","content":"terse"}],"stream":false,"options":{"top_k":5}}"#
    );
}

#[test]
fn an_overlong_prompt_is_rejected_unless_the_request_sets_truncate() {
    let target = OllamaTarget {
        refuse_overlong: true,
        ..OllamaTarget::default()
    };
    let (body, _) = write_to(&Request::user("hi"), &to(target));
    assert!(body.contains(r#""truncate":false"#), "{body}");
    let own = r#"{"model":"m","messages":[],"truncate":true,"stream":false}"#;
    let read = crate::Protocol::Ollama
        .codec()
        .read_request(own.into())
        .unwrap();
    let (body, _) = write_to(&read.request, &to(target));
    assert_eq!(body, own);
}
