use majordomo_llm::{
    Dialect, Effort, File, Json, Message, Native, Opaque, Part, Reasoning, Role, Tool, ToolCall,
    ToolChoice, ToolResult,
};

use super::*;

const OTHER: Dialect = Dialect::new("openai-chat");

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "look", "{}")
}

fn messages(body: &str) -> &str {
    let start = body.find(r#""messages":"#).unwrap() + 11;
    let end = body.rfind(r#","max_tokens""#).unwrap();
    &body[start..end]
}

#[test]
fn a_plain_request_has_the_basic_form() {
    let request = Request::user("hi")
        .system("be terse")
        .tool(
            Tool::new("t")
                .description("d")
                .parameters(Json::parse(r#"{"type":"object", "b": 1}"#).unwrap()),
        )
        .tool(Tool::new("u"))
        .tool(Tool::new("v").parameters(Json::parse(r#"{ "b": 1}"#).unwrap()))
        .tool_choice(ToolChoice::Named("t".into()))
        .effort(Effort::High)
        .stop("x")
        .prompt_cache(true);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","system":"be terse","messages":[{"role":"user","content":"hi"}],"max_tokens":4096,"#,
            r#""tools":[{"name":"t","description":"d","input_schema":{"type":"object", "b": 1}},"#,
            r#"{"name":"u","input_schema":{"type":"object","properties":{}}},"#,
            r#"{"name":"v","input_schema":{"type":"object","b": 1}}],"#,
            r#""tool_choice":{"type":"tool","name":"t"},"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"#,
            r#""stop_sequences":["x"],"cache_control":{"type":"ephemeral"}}"#
        )
    );
    assert!(losses.is_empty());
}

#[test]
fn max_tokens_is_always_written() {
    let limit = |request: &Request, to: &Outgoing<'_>| {
        let body = Messages.write_request(request, to).body;
        read(std::str::from_utf8(&body).unwrap())
            .request
            .prompt()
            .max_tokens
    };
    let mut request = Request::user("hi");
    let small = Outgoing {
        default_max_tokens: 100,
        ..Outgoing::new("m")
    };
    assert_eq!(limit(&request, &Outgoing::new("m")), Some(4_096));
    assert_eq!(limit(&request, &small), Some(100));
    request.edit().reasoning_budget = Some(2_000);
    assert_eq!(
        limit(&request, &small),
        Some(2_100),
        "includes the reasoning budget"
    );
    assert_eq!(limit(&request.max_tokens(7), &small), Some(7));
}

#[test]
fn tool_results_of_a_turn_come_first_in_one_message() {
    let mut with_picture = ToolResult::new(&call("a"), "seen");
    with_picture.parts.push(Part::image("image/png", vec![1]));
    let calls = vec![
        Part::text("let me see"),
        Part::ToolCall(call("a")),
        Part::ToolCall(call("b")),
    ];
    let request = Request::from(vec![
        Message::user("look"),
        Message::new(Role::Assistant, calls),
        Message::system("be quick"),
        Message::user("so?"),
        Message::tool_results_message([with_picture]),
        Message::tool_results_message([ToolResult::error(&call("b"), "gone")]),
    ]);
    let (body, losses) = write(&request);
    assert_eq!(
        messages(&body),
        concat!(
            r#"[{"role":"user","content":"look"},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"let me see"},"#,
            r#"{"type":"tool_use","id":"a","name":"look","input":{}},{"type":"tool_use","id":"b","name":"look","input":{}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":["#,
            r#"{"type":"text","text":"seen"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQ=="}}]},"#,
            r#"{"type":"tool_result","tool_use_id":"b","content":"gone","is_error":true},{"type":"text","text":"so?"}]},"#,
            r#"{"role":"system","content":"be quick"}]"#
        )
    );
    assert_eq!(losses, ["system"], "moved behind the user's turn");
}

#[test]
fn leading_system_messages_become_system() {
    let request = Request::from(vec![
        Message::system("first"),
        Message::system("second"),
        Message::user("hi"),
        Message::system("third"),
    ])
    .system("zeroth");
    let (body, losses) = write(&request);
    assert!(
        body.starts_with(concat!(
            r#"{"model":"m","system":[{"type":"text","text":"zeroth"},{"type":"text","text":"first"},{"type":"text","text":"second"}],"#,
            r#""messages":[{"role":"user","content":"hi"},{"role":"system","content":"third"}],"#
        )),
        "{body}"
    );
    assert!(losses.is_empty());
}

#[test]
fn messages_of_one_side_are_merged_and_empty_ones_dropped() {
    let request = Request::from(vec![
        Message::user("a"),
        Message::user(""),
        Message::new(Role::User, vec![Part::text(" \n"), Part::text("b")]),
        Message::assistant(""),
        Message::user("c"),
        Message::assistant("d"),
        Message::assistant("e \n"),
    ]);
    let (body, losses) = write(&request);
    assert_eq!(
        messages(&body),
        concat!(
            r#"[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"#,
            r#"{"role":"user","content":"c"},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"d"},{"type":"text","text":"e"}]}]"#
        )
    );
    assert_eq!(losses, ["text", "text"], "blank dropped, the end trimmed");
}

#[test]
fn a_placeholder_is_inserted_if_the_assistant_speaks_first() {
    let (body, losses) = write(&Request::from(vec![
        Message::assistant("a"),
        Message::user("b"),
    ]));
    assert!(
        messages(&body)
            .starts_with(r#"[{"role":"user","content":"(no message)"},{"role":"assistant""#)
    );
    assert_eq!(losses, ["messages"]);
}

#[test]
fn call_ids_are_valid_and_unique_and_results_match_them() {
    let turn = |id: &str| {
        [
            Message::assistant(Part::ToolCall(call(id))),
            Message::tool_results_message([ToolResult::new(&call(id), "x")]),
        ]
    };
    let mut all = vec![Message::user("hi")];
    for id in ["", "same", "same", "functions.look:0"] {
        all.extend(turn(id));
    }
    let (body, _) = write(&Request::from(all));
    for id in ["call_0", "same", "same_2", "xid_functions_2elook_3a0"] {
        assert_eq!(
            body.matches(&format!("\"{id}\"")).count(),
            2,
            "{id} in {body}"
        );
    }
}

#[test]
fn unsupported_settings_are_listed_losses() {
    let mut request = Request::user("hi")
        .schema(Json::parse("{}").unwrap(), "s")
        .temperature(1.5)
        .effort(Effort::Minimal)
        .tool(Tool::new("t"))
        .tool_choice(ToolChoice::None);
    let prompt = request.edit();
    prompt.seed = Some(1);
    prompt.presence_penalty = Some(1.0);
    prompt.frequency_penalty = Some(1.0);
    prompt.cache_key = Some("k".into());
    prompt.parallel_tool_calls = Some(false);
    prompt.native = Native::new(OTHER)
        .with("logit_bias", Json::string("x"))
        .into_option();
    prompt
        .hosted_tools
        .push(Opaque::new(OTHER, "web_search", Json::string("x")));
    let (body, losses) = write(&request);
    assert_eq!(
        losses,
        [
            "logit_bias",
            "tools.web_search",
            "parallel_tool_calls",
            "effort",
            "output.name",
            "temperature",
            "presence_penalty",
            "frequency_penalty",
            "seed",
            "cache_key"
        ]
    );
    for kept in [
        r#""tool_choice":{"type":"none"}"#,
        r#""output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}}"#,
        r#""temperature":1"#,
        // Caching is opt-in here, and a key for it asks for caching.
        r#""cache_control":{"type":"ephemeral"}"#,
    ] {
        assert!(body.contains(kept), "{kept} in {body}");
    }
    let mut request = Request::user("hi").system("Be brief.");
    request.edit().output = majordomo_llm::OutputFormat::Json;
    let (body, losses) = write(&request);
    assert_eq!(losses, ["output"]);
    assert!(
        body.contains("Be brief.") && body.contains("Answer with one JSON object"),
        "{body}"
    );
}

#[test]
fn unsupported_content_is_a_listed_loss() {
    let foreign = |name: &str| {
        Native::new(OTHER)
            .with(name, Json::string("s"))
            .into_option()
    };
    let mut text = majordomo_llm::Text::new("hi");
    text.native = foreign("mark");
    let file = |native| {
        Part::File(File {
            media_type: "application/pdf".into(),
            data: Bytes::from_static(&[1]),
            name: Some("a.pdf".into()),
            native,
        })
    };
    let request = Request::from(vec![
        Message::new(
            Role::User,
            vec![
                Part::Text(text),
                file(None),
                file(foreign("field")),
                Part::RemoteImage(majordomo_llm::RemoteImage {
                    url: "gs://bucket/a.png".into(),
                    native: None,
                }),
                Part::Opaque(Opaque::new(OTHER, "input_audio", Json::string("x"))),
            ],
        ),
        Message::new(
            Role::Assistant,
            vec![
                Part::Reasoning(Reasoning {
                    text: "hm".into(),
                    native: foreign("reasoning_details"),
                }),
                Part::Refusal(majordomo_llm::Text::new("no")),
                Part::ToolCall(ToolCall::new("a", "t", "[1]")),
            ],
        ),
    ]);
    let (body, mut losses) = write(&request);
    losses.sort();
    assert_eq!(
        losses,
        [
            "arguments",
            "file",
            "image",
            "input_audio",
            "mark",
            "reasoning",
            "reasoning_details",
            "refusal"
        ]
    );
    assert_eq!(
        body.matches("application/pdf").count(),
        1,
        "only our own file"
    );
    assert!(body.contains(r#"{"type":"text","text":"no"}"#) && !body.contains("hm"));
    assert!(body.contains(r#""input":{"arguments":"[1]"}"#));
}

#[test]
fn an_unedited_request_keeps_its_bytes_except_for_the_model() {
    let source = r#"{ "model" : "x", "messages":[ {"role":"user","content":"a"} ], "beta":1.0, "max_tokens": 5 }"#;
    let (body, losses) = write(&read(source).request);
    assert_eq!(body, source.replace("\"x\"", "\"m\""));
    assert!(losses.is_empty());
}

#[test]
fn an_edited_request_keeps_the_bytes_of_unchanged_fields() {
    let source = r#"{ "beta" : 1.0, "model":"x", "system": [{"text":"s", "type":"text", "cache_control":{"type": "ephemeral"}}, {"type":"text","text":"t"}], "messages": [
        {"role":"user", "content":[{"text":"a", "type":"text", "mark":1e0}, {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}}], "x":[ ]},
        {"role":"assistant",   "content":[{"type":"tool_use", "id":"t1", "name":"t", "input": { }}]},
        {"role":"user", "content":[{"tool_use_id":"t1", "type":"tool_result", "content":[{"type":"text", "text":"r"}, {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}}], "cache_control":{"type": "ephemeral"}}]} ], "max_tokens": 5}"#;
    let mut request = read(source).request;
    let prompt = request.edit();
    prompt.system[1].text = "u".into();
    prompt.messages[0].parts[1] = Part::text("a described image");
    let Part::ToolResult(result) = &mut prompt.messages[2].parts[0] else {
        panic!("a result");
    };
    result.parts[1] = Part::text("another one");
    prompt.max_tokens = Some(6);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{ "beta" : 1.0, "model":"m", "system": [{"text":"s", "type":"text", "cache_control":{"type": "ephemeral"}},{"type":"text","text":"u"}], "messages": ["#,
            r#"{"role":"user", "content":[{"text":"a", "type":"text", "mark":1e0},{"type":"text","text":"a described image"}], "x":[ ]},"#,
            r#"{"role":"assistant",   "content":[{"type":"tool_use", "id":"t1", "name":"t", "input": { }}]},"#,
            r#"{"role":"user", "content":[{"tool_use_id":"t1", "type":"tool_result", "content":[{"type":"text", "text":"r"},{"type":"text","text":"another one"}], "cache_control":{"type": "ephemeral"}}]}], "max_tokens": 6}"#
        )
    );
    assert!(losses.is_empty());
}

#[test]
fn a_merged_message_reuses_the_text_of_its_blocks() {
    let source = r#"{"model":"x","max_tokens":5,"messages":[{"role":"user","content":[{"text":"a", "type":"text"}]},{"role":"user","content":"b"}]}"#;
    let mut request = read(source).request;
    request.edit().messages.push(Message::user("c"));
    assert!(write(&request).0.contains(
        r#""messages":[{"role":"user","content":[{"text":"a", "type":"text"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}]"#
    ));
    let mut request = read(source).request;
    request.edit().messages.push(Message::assistant("c"));
    assert!(write(&request).0.contains(
        r#"[{"role":"user","content":[{"text":"a", "type":"text"}]},{"role":"user","content":"b"},{"role":"assistant","content":"c"}]"#
    ));
}

#[test]
fn an_edit_can_remove_and_add_fields() {
    let mut request = read(r#"{"temperature":1,"model":"x","max_tokens":5,"messages":[]}"#).request;
    request.edit().temperature = None;
    request.edit().top_p = Some(0.5);
    let request = request.system("s");
    assert_eq!(
        write(&request).0,
        r#"{"model":"m","max_tokens":5,"messages":[],"top_p":0.5,"system":"s"}"#
    );
    let mut request = read(r#"{"model":"x","system":"s","max_tokens":5,"messages":[]}"#).request;
    request.edit().system.clear();
    assert_eq!(
        write(&request).0,
        r#"{"model":"m","max_tokens":5,"messages":[]}"#
    );
}

#[test]
fn an_edited_effort_replaces_every_form_of_the_setting() {
    let rows = [
        r#""thinking":{"type":"disabled"}"#,
        r#""thinking":{"type":"adaptive"},"output_config":{"effort":"low"}"#,
    ];
    for form in rows {
        let mut request = read(&format!(
            r#"{{"model":"x","max_tokens":5,"messages":[],{form}}}"#
        ))
        .request;
        request.edit().effort = Some(Effort::High);
        assert_eq!(
            write(&request).0,
            r#"{"model":"m","max_tokens":5,"messages":[],"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}"#
        );
    }
    let old =
        r#"{"max_tokens":5,"messages":[],"output_format":{"type":"json_schema","schema":{}}}"#;
    let mut request = read(old).request;
    request.edit().output = majordomo_llm::OutputFormat::Text;
    assert_eq!(
        write(&request).0,
        r#"{"max_tokens":5,"messages":[],"model":"m"}"#
    );
}

#[test]
fn an_edit_rewrites_invalid_call_ids() {
    let source = r#"{"max_tokens":5,"messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"f.x","name":"t","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"f.x","content":"r"}]}]}"#;
    let mut request = read(source).request;
    request.edit().messages.push(Message::assistant("so"));
    assert_eq!(write(&request).0.matches("\"xid_f_2ex\"").count(), 2);
}

#[test]
fn an_edit_can_add_a_missing_conversation() {
    let mut request = read(r#"{"model":"x","service_tier":"auto"}"#).request;
    request.edit().messages.push(Message::user("hi"));
    assert_eq!(
        write(&request).0,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4096,"service_tier":"auto"}"#
    );
}
