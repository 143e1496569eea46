use majordomo_llm::{
    Dialect, Effort, File, Json, Message, Native, Opaque, Part, Prompt, Reasoning, Request, Role,
    Text, Tool, ToolCall, ToolChoice, ToolResult,
};

use super::*;

const OTHER: Dialect = Dialect::new("anthropic-messages");

fn call(id: &str) -> ToolCall {
    ToolCall::new(id, "look", "{}")
}

fn foreign(name: &str) -> Option<Box<Native>> {
    Native::new(OTHER)
        .with(name, Json::string("x"))
        .into_option()
}

#[test]
fn a_plain_request_has_the_basic_form() {
    let request = Request::user("hi")
        .system("be terse")
        .tool(Tool::new("t").parameters(Json::parse(r#"{"b": 1}"#).unwrap()))
        .tool(Tool::new("u"))
        .tool_choice(ToolChoice::Named("t".into()))
        .schema(Json::parse("{}").unwrap(), "s")
        .effort(Effort::Low)
        .max_tokens(9)
        .temperature(0.5);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","input":[{"type":"message","role":"user","content":"hi"}],"#,
            r#""instructions":"be terse","#,
            r#""tools":[{"type":"function","name":"t","parameters":{"b": 1}},{"type":"function","name":"u","parameters":null}],"#,
            r#""tool_choice":{"type":"function","name":"t"},"#,
            r#""text":{"format":{"type":"json_schema","name":"s","schema":{}}},"reasoning":{"effort":"low"},"#,
            r#""max_output_tokens":9,"temperature":0.5}"#
        )
    );
    assert!(losses.is_empty());
    let to = Outgoing::new("m").stream(true);
    let body = Responses.write_request(&Request::user("hi"), &to).body;
    assert!(body.ends_with(br#","stream":true}"#));
}

#[test]
fn every_kind_of_part_becomes_an_item() {
    let mut seen = ToolResult::new(&call("a"), "seen");
    seen.parts.push(Part::image("image/png", vec![1, 2, 3]));
    let request = Request::from(vec![
        Message::new(
            Role::Assistant,
            vec![
                Part::text("let me look"),
                Part::ToolCall(call("a")),
                Part::ToolCall(call("b")),
            ],
        ),
        Message::tool_results_message([seen, ToolResult::error(&call("b"), "broken")]),
        Message::new(
            Role::User,
            vec![Part::text("and"), Part::image("image/png", vec![4])],
        ),
        Message::system("hurry"),
    ]);
    let (body, losses) = write(&request);
    assert_eq!(
        body,
        concat!(
            r#"{"model":"m","input":[{"type":"message","role":"assistant","content":"let me look"},"#,
            r#"{"type":"function_call","call_id":"a","name":"look","arguments":"{}"},"#,
            r#"{"type":"function_call","call_id":"b","name":"look","arguments":"{}"},"#,
            r#"{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"seen"},{"type":"input_image","image_url":"data:image/png;base64,AQID"}]},"#,
            r#"{"type":"function_call_output","call_id":"b","output":"ERROR: broken"},"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"and"},{"type":"input_image","image_url":"data:image/png;base64,BA=="}]},"#,
            r#"{"type":"message","role":"system","content":"hurry"}]}"#
        )
    );
    assert_eq!(losses, ["is_error"]);
}

#[test]
fn every_item_round_trips() {
    let body = concat!(
        r#"{"model":"m","input":["#,
        r#"{"type":"message","role":"developer","content":"a"},"#,
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"XYZ"},"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"x":1}]}],"phase":"commentary"},"#,
        r#"{"type":"function_call","call_id":"c","name":"t","namespace":"n","arguments":"{}","id":"fc_1"},"#,
        r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,AQID","detail":"low"}],"id":"fco_1"},"#,
        r#"{"type":"custom_tool_call","call_id":"d","name":"patch","input":"x"},"#,
        r#"{"type":"custom_tool_call_output","call_id":"d","output":"y"},"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_file","file_id":"f"}]}],"#,
        r#""tools":[{"type":"custom","name":"p","format":{"type":"text"}},{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"t"},{"type":"custom","name":"u"}]},"#,
        r#"{"type":"namespace","name":"n2","tools":[{"type":"function","name":"t"}]},{"type":"web_search","x":1}],"tool_choice":{"type":"custom","name":"u","namespace":"n"},"text":{"verbosity":"low"},"reasoning":{"summary":"auto"},"store":false}"#
    );
    let prompt = Prompt::clone(read(body).request.prompt());
    let (written, losses) = write(&prompt.into());
    assert_eq!(written, body);
    assert!(losses.is_empty());
}

#[test]
fn a_response_in_the_history_keeps_its_items_state_and_phases() {
    let output = concat!(
        r#"[{"type":"reasoning","id":"rs_1","encrypted_content":"XYZ","summary":[{"type":"summary_text","text":"hm"}]},"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"output_text","text":"b","annotations":[]}],"id":"msg_1","phase":"commentary"},"#,
        r#"{"type":"message","role":"assistant","content":"c","id":"msg_2","phase":"final_answer"},"#,
        r#"{"type":"function_call","call_id":"c1","name":"t","arguments":"{}","id":"fc_1"}]"#
    );
    let body = format!(r#"{{"id":"r","status":"completed","output":{output}}}"#);
    let response = Responses.read_response(Bytes::from(body), 0).unwrap();
    let (written, losses) = write(&Request::from(vec![response.to_message()]));
    assert_eq!(written, format!(r#"{{"model":"m","input":{output}}}"#));
    assert!(losses.is_empty());
}

#[test]
fn inexpressible_fields_are_listed_losses() {
    let prompt = Prompt {
        system: vec![Text {
            text: "a".into(),
            native: foreign("cache_control"),
        }],
        messages: vec![
            Message::new(
                Role::Assistant,
                vec![Part::Reasoning(Reasoning {
                    text: "hm".into(),
                    native: foreign("signature"),
                })],
            ),
            Message::new(
                Role::User,
                vec![
                    Part::File(File {
                        media_type: "application/pdf".into(),
                        data: vec![1].into(),
                        name: None,
                        native: foreign("field"),
                    }),
                    Part::Opaque(Opaque::new(OTHER, "document", Json::string("x"))),
                ],
            ),
        ],
        hosted_tools: vec![Opaque::new(OTHER, "computer", Json::string("x"))],
        top_k: Some(1),
        presence_penalty: Some(1.0),
        frequency_penalty: Some(1.0),
        seed: Some(1),
        stop: vec!["x".into()],
        reasoning_budget: Some(1),
        native: foreign("speed"),
        ..Prompt::default()
    };
    let (body, mut losses) = write(&prompt.into());
    losses.sort();
    assert_eq!(
        losses,
        [
            "cache_control",
            "document",
            "file",
            "frequency_penalty",
            "presence_penalty",
            "reasoning",
            "reasoning_budget",
            "seed",
            "signature",
            "speed",
            "stop",
            "tools.computer",
            "top_k",
        ]
    );
    assert_eq!(
        body,
        r#"{"model":"m","input":[{"type":"message","role":"user","content":""}],"instructions":"a"}"#
    );
}

#[test]
fn a_native_file_is_written() {
    let file = File {
        media_type: "application/pdf".into(),
        data: vec![1, 2, 3].into(),
        name: Some("a.pdf".into()),
        native: None,
    };
    let (body, losses) = write(&Request::user(Part::File(file)));
    assert!(
        body.contains(r#"[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AQID"}]"#),
        "{body}"
    );
    assert!(losses.is_empty());
}

#[test]
fn calls_with_the_same_id_get_unique_ids() {
    let messages = vec![
        Message::assistant(Part::ToolCall(call("a"))),
        Message::tool_results_message([ToolResult::new(&call("a"), "1")]),
        Message::assistant(Part::ToolCall(call("a"))),
        Message::tool_results_message([ToolResult::new(&call("a"), "2")]),
    ];
    let (body, _) = write(&Request::from(messages));
    assert!(body.contains(r#""call_id":"a_2","output":"2""#), "{body}");
}

const SOURCE: &str = r#"{ "store": false, "model": "x", "instructions": "be terse", "input": [
  {"role": "user", "x": 1, "content": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "high"}]},
  {"type": "function_call_output", "id": "fco_1", "call_id": "c", "output": "b"},
  {"role": "user", "y": 2, "content": "c"}], "z": 1.0 }"#;

fn edited(edit: impl FnOnce(&mut Prompt)) -> String {
    let mut request = read(SOURCE).request;
    edit(request.edit());
    let (body, losses) = write(&request);
    assert!(losses.is_empty(), "{losses:?}");
    body
}

#[test]
fn an_unedited_request_keeps_its_bytes_except_for_the_model() {
    let (body, losses) = write(&read(SOURCE).request);
    assert_eq!(body, SOURCE.replace("\"x\",", "\"m\","));
    assert!(losses.is_empty());
}

#[test]
fn an_edit_keeps_the_bytes_of_unchanged_fields() {
    let source = SOURCE.replace("\"x\",", "\"m\",");
    let image =
        r#"{"type": "input_image", "image_url": "data:image/png;base64,AQID", "detail": "high"}"#;
    assert_eq!(
        edited(|prompt| prompt.system[0].text = "be kind".into()),
        source.replace("be terse", "be kind")
    );
    assert_eq!(
        edited(|prompt| prompt.messages[2].parts = vec![Part::text("d")]),
        source
            .replace("\"c\"}], \"z\"", "\"d\"}], \"z\"")
            .replace(",\n  ", ",")
            .replace("[\n  ", "[")
    );
    let described = edited(|prompt| prompt.messages[0].parts[1] = Part::text("a cat"));
    let expected = r#"{"role": "user", "x": 1, "content": [{"type": "input_text", "text": "a"},{"type":"input_text","text":"a cat"}]}"#;
    assert!(described.contains(expected), "{described}");
    assert!(!described.contains(image));
    let described = edited(|prompt| {
        if let Part::ToolResult(result) = &mut prompt.messages[1].parts[0] {
            result.parts = vec![Part::text("b"), Part::image("image/png", vec![1])];
        }
    });
    let expected = r#"{"type": "function_call_output", "id": "fco_1", "call_id": "c", "output": [{"type":"input_text","text":"b"},{"type":"input_image","image_url":"data:image/png;base64,AQ=="}]}"#;
    assert!(described.contains(expected), "{described}");
    assert!(described.contains(image));
}

#[test]
fn messages_can_be_added_to_every_form_of_input() {
    for input in ["", r#""input":"hi","#, r#""input":null,"#, r#""input":[],"#] {
        let mut request = read(&format!(r#"{{{input}"store":false}}"#)).request;
        request.edit().messages.push(Message::user("more"));
        let (body, _) = write(&request);
        let again = read(&body);
        assert_eq!(
            again.request.prompt().messages,
            request.prompt().messages,
            "{body}"
        );
        assert!(body.contains(r#""store":false"#), "{body}");
    }
}

#[test]
fn an_empty_content_list_does_not_come_back_as_an_empty_text() {
    for content in ["[]", "\"\"", "null"] {
        for role in ["assistant", "user"] {
            let body = format!(
                r#"{{"model":"m","input":[{{"type":"message","role":"{role}","content":{content}}}]}}"#
            );
            let read = Responses.read_request(Bytes::from(body.clone())).unwrap();
            let built = Request::from(read.request.prompt().clone());
            let written = Responses.write_request(&built, &Outgoing::new("m"));
            let expected = format!(r#""role":"{role}","content":{content}}}]"#);
            let text = String::from_utf8(written.body.to_vec()).unwrap();
            assert!(text.contains(&expected), "{text}");
            assert!(written.losses.is_empty());
        }
    }
}
