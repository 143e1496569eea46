use majordomo_llm::{
    Dialect, File, Json, Message, Native, Opaque, Part, Reasoning, Request, Role, Tool, ToolCall,
    ToolChoice, ToolResult,
};

use super::*;

const OTHER: Dialect = Dialect::new("anthropic-messages");

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "look", "{}")
}

#[test]
fn a_plain_request_uses_the_common_subset() {
    let request = Request::user("hi")
        .system("be terse")
        .tool(Tool::new("t").parameters(Json::parse(r#"{"b": 1}"#).unwrap()))
        .tool_choice(ToolChoice::Named("t".into()))
        .schema(Json::parse("{}").unwrap(), "s")
        .max_tokens(9)
        .temperature(0.5)
        .stop("x");
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","messages":[{"role":"system","content":"be terse"},{"role":"user","content":"hi"}],"#,
            r#""tools":[{"type":"function","function":{"name":"t","parameters":{"b": 1}}}],"#,
            r#""tool_choice":{"type":"function","function":{"name":"t"}},"#,
            r#""response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{}}},"#,
            r#""max_completion_tokens":9,"temperature":0.5,"stop":["x"]}"#
        )
    );
    assert!(losses.is_empty());
}

#[test]
fn streams_request_usage_and_legacy_servers_get_max_tokens() {
    let to = Outgoing {
        legacy_max_tokens: true,
        ..Outgoing::new("m").stream(true)
    };
    let body = Chat
        .write_request(&Request::from(vec![]).max_tokens(9), &to)
        .body;
    assert_eq!(
        body,
        r#"{"model":"m","messages":[],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}"#
    );
}

#[test]
fn tool_images_follow_after_all_tool_messages_of_the_turn() {
    let mut with_image = ToolResult::new(&call("a"), "seen");
    with_image.parts.push(Part::image("image/png", vec![1]));
    let mut image_only = ToolResult::new(&call("b"), "");
    image_only.parts = vec![Part::image("image/png", vec![2])];
    let calls = vec![Part::ToolCall(call("a")), Part::ToolCall(call("b"))];
    let request = Request::from(vec![
        Message::new(Role::Assistant, calls),
        Message::tool_results_message([with_image]),
        Message::tool_results_message([image_only]),
        Message::user("so?"),
    ]);
    let (body, losses) = write(&request);
    let expected = concat!(
        r#"{"role":"tool","tool_call_id":"a","content":"seen"},"#,
        r#"{"role":"tool","tool_call_id":"b","content":"see image below"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"Image from the tool call a:"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AQ=="}},"#,
        r#"{"type":"text","text":"Image from the tool call b:"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,Ag=="}}]},"#,
        r#"{"role":"user","content":"so?"}]"#
    );
    assert!(body.contains(expected), "{body}");
    assert!(losses.is_empty(), "nothing is lost");
}

#[test]
fn a_failed_tool_result_is_prefixed_with_error() {
    let request = Request::from(vec![Message::tool_results_message([ToolResult::error(
        &call("a"),
        "no such file",
    )])]);
    let (body, losses) = write(&request);
    assert!(
        body.contains(r#""content":"ERROR: no such file""#),
        "{body}"
    );
    assert_eq!(losses, ["is_error"]);
}

#[test]
fn missing_and_duplicate_call_ids_become_distinct() {
    let request = Request::from(vec![
        Message::assistant(Part::ToolCall(call(""))),
        Message::tool_results_message([ToolResult::new(&call(""), "x")]),
        Message::assistant(Part::ToolCall(call("same"))),
        Message::tool_results_message([ToolResult::new(&call("same"), "y")]),
        Message::assistant(Part::ToolCall(call("same"))),
        Message::tool_results_message([ToolResult::new(&call("same"), "z")]),
    ]);
    let (body, _) = write(&request);
    for id in ["call_0", "same", "same_2"] {
        assert_eq!(
            body.matches(&format!("\"{id}\"")).count(),
            2,
            "{id} in {body}"
        );
    }
}

#[test]
fn content_of_another_dialect_is_reported_as_a_loss() {
    let foreign = |name: &str| {
        Native::new(OTHER)
            .with(name, Json::string("s"))
            .into_option()
    };
    let mut text = majordomo_llm::Text::new("hi");
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
    ]);
    request.edit().top_k = Some(5);
    request.edit().reasoning_budget = Some(5);
    request.edit().native = foreign("thinking");
    let (body, mut losses) = write(&request);
    losses.sort();
    assert_eq!(
        losses,
        [
            "cache_control",
            "document",
            "file",
            "reasoning",
            "reasoning_budget",
            "signature",
            "thinking",
            "title",
            "top_k"
        ]
    );
    assert!(body.contains("hi") && !body.contains("hm"));
}

#[test]
fn reasoning_is_written_under_the_key_it_was_read_from() {
    for history in [
        r#"{"role":"assistant","reasoning_content":"hm","content":"x"}"#,
        r#"{"role":"assistant","reasoning":"hm","reasoning_details":[{"a": 1}],"content":"x"}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"x"}]}"#,
    ] {
        let incoming = read(&format!(r#"{{"messages":[{history}]}}"#));
        let fresh = Request::from(incoming.request.prompt().messages.clone());
        let (body, losses) = write(&fresh);
        assert_eq!(body, format!(r#"{{"model":"m","messages":[{history}]}}"#));
        assert!(losses.is_empty());
    }
}

#[test]
fn an_edited_request_keeps_all_other_bytes() {
    let source = r#"{ "seed" : 1.0, "model":"x", "messages": [
        {"role":"user", "content":[{"type":"text", "text":"a", "mark":1e0}, {"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}], "x":[ ]},
        {"role":"assistant",   "content":"b"} ], "beta": {"y" : null}, "max_tokens": 5}"#;
    let mut request = read(source).request;
    let prompt = request.edit();
    prompt.messages[0].parts[1] = Part::text("a described picture");
    prompt.messages.push(Message::user("c"));
    prompt.max_tokens = Some(6);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{ "seed" : 1.0, "model":"m", "messages": [{"role":"user", "content":[{"type":"text", "text":"a", "mark":1e0},{"type":"text","text":"a described picture"}], "x":[ ]},"#,
            r#"{"role":"assistant",   "content":"b"},{"role":"user","content":"c"}], "beta": {"y" : null}, "max_tokens": 6}"#
        )
    );
    assert!(losses.is_empty());
}

#[test]
fn an_edit_can_remove_and_add_fields() {
    let mut request = read(r#"{"temperature":1,"model":"x","messages":[]}"#).request;
    request.edit().temperature = None;
    request.edit().top_p = Some(0.5);
    assert_eq!(
        write(&request).0,
        r#"{"model":"m","messages":[],"top_p":0.5}"#
    );
}

#[test]
fn an_edited_effort_replaces_every_form_of_it() {
    for form in [
        r#""reasoning_effort":"low""#,
        r#""reasoning":{"effort":"low"}"#,
    ] {
        let mut request = read(&format!(r#"{{"model":"x","messages":[],{form}}}"#)).request;
        request.edit().effort = Some(majordomo_llm::Effort::High);
        let (body, _) = write(&request);
        assert_eq!(
            body,
            r#"{"model":"m","messages":[],"reasoning_effort":"high"}"#
        );
    }
}

#[test]
fn reasoning_parts_with_the_same_key_are_joined() {
    let reasoning = |text: &str, details: &str| {
        let native = Native::new(crate::Protocol::Chat.dialect())
            .with("field", Json::string("reasoning"))
            .with("reasoning_details", Json::parse(details).unwrap());
        Part::Reasoning(Reasoning {
            text: text.into(),
            native: native.into_option(),
        })
    };
    let parts = vec![
        reasoning("a", "[1]"),
        Part::text("x"),
        reasoning("b", "[2, 3]"),
    ];
    let (body, _) = write(&Request::from(vec![Message::new(Role::Assistant, parts)]));
    assert!(
        body.contains(r#""reasoning":"ab","reasoning_details":[1,2, 3],"content":"x""#),
        "{body}"
    );
}

#[test]
fn a_message_that_loses_every_part_has_empty_content() {
    let document = Opaque::new(OTHER, "document", Json::string("x"));
    let (body, losses) = write(&Request::user(Part::Opaque(document)));
    assert!(body.contains(r#"{"role":"user","content":""}"#), "{body}");
    assert_eq!(losses, ["document"]);
}

#[test]
fn messages_can_be_added_to_a_request_without_any() {
    let mut request = read(r#"{"model":"x","store":true}"#).request;
    request.edit().messages.push(Message::user("hi"));
    let (body, _) = write(&request);
    assert_eq!(
        body,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"store":true}"#
    );
}

#[test]
fn absent_null_and_empty_content_are_kept_apart() {
    for message in [
        r#"{"role":"user","content":[]}"#,
        r#"{"role":"user","content":""}"#,
        r#"{"role":"user","content":null}"#,
        r#"{"role":"assistant","content":[]}"#,
        r#"{"role":"assistant","content":null}"#,
    ] {
        let body = format!(r#"{{"model":"m","messages":[{message}]}}"#);
        let read = Chat.read_request(Bytes::from(body.clone())).unwrap();
        let built = Request::from(read.request.prompt().clone());
        assert_eq!(Chat.write_request(&built, &Outgoing::new("m")).body, body);
    }
}
