use majordomo_llm::{Effort, OutputFormat, Part, Role, ToolChoice};
use proptest::prelude::*;

use super::*;

fn field(name: &str, value: &str) -> Incoming {
    read(&format!(
        r#"{{"model":"x","messages":[],"tools":[{{"type":"function","function":{{"name":"t"}}}}],"{name}":{value}}}"#
    ))
}

#[test]
fn each_message_is_read_with_its_role() {
    let incoming = read(
        r#"{"model":"x","messages":[
            {"role":"developer","content":"a"},
            {"role":"user","content":[{"type":"text","text":"b"}],"name":"ann"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"t","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"d"},
            {"role":"system","content":"e"},
            {"role":"critic","content":"f"}]}"#,
    );
    let roles: Vec<_> = incoming
        .request
        .prompt()
        .messages
        .iter()
        .map(|m| m.role)
        .collect();
    assert_eq!(
        roles,
        [
            Role::System,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::System,
            Role::User
        ]
    );
    let result = incoming.request.prompt().messages[3]
        .tool_results()
        .next()
        .unwrap();
    assert_eq!(
        (result.call_id.as_str(), result.text().as_str()),
        ("c1", "d")
    );
    let native = |n: usize| {
        incoming.request.prompt().messages[n]
            .native
            .as_ref()
            .unwrap()
    };
    assert_eq!(native(0).get("role").unwrap().as_str(), "\"developer\"");
    assert_eq!(native(1).get("name").unwrap().as_str(), "\"ann\"");
    assert_eq!(native(5).get("role").unwrap().as_str(), "\"critic\"");
}

#[test]
fn every_kind_of_content_part_is_read() {
    let incoming = read(
        r#"{"messages":[{"role":"user","content":[
            "bare",
            {"type":"text","text":"t","cache_control":{"type":"ephemeral"}},
            {"type":"image_url","image_url":{"url":"data:image\/png;base64,AQID","detail":"low"}},
            {"type":"image_url","image_url":"https://x.example/a.png"},
            {"type":"file","file":{"file_data":"data:application/pdf;base64,AQID","filename":"a.pdf"}},
            {"type":"file","file":{"file_id":"f1"}},
            {"type":"input_audio","input_audio":{"data":"AQID","format":"wav"}},
            {"type":"hologram","depth":3}]}]}"#,
    );
    let parts = &incoming.request.prompt().messages[0].parts;
    assert!(matches!(&parts[0], Part::Text(t) if t.text == "bare"));
    assert!(parts[1].native().unwrap().get("cache_control").is_some());
    assert!(
        matches!(&parts[2], Part::Image(i) if i.media_type == "image/png" && i.data == [1, 2, 3][..])
    );
    assert!(parts[2].native().unwrap().get("image_url.detail").is_some());
    assert!(matches!(&parts[3], Part::RemoteImage(i) if i.url == "https://x.example/a.png"));
    assert!(matches!(&parts[4], Part::File(f) if f.name.as_deref() == Some("a.pdf")));
    for (part, kind) in parts[5..].iter().zip(["file", "input_audio", "hologram"]) {
        assert!(
            matches!(part, Part::Opaque(block) if block.kind == kind),
            "{kind}"
        );
    }
}

#[test]
fn every_form_of_tool_choice_is_read() {
    let rows = [
        (r#""auto""#, ToolChoice::Auto),
        (r#""none""#, ToolChoice::None),
        (r#""required""#, ToolChoice::Required),
        (r#""any""#, ToolChoice::Required),
        (
            r#"{"type":"function","function":{"name":"t"}}"#,
            ToolChoice::Named("t".into()),
        ),
        ("null", ToolChoice::Auto),
    ];
    for (value, expected) in rows {
        let incoming = field("tool_choice", value);
        assert_eq!(incoming.request.prompt().tool_choice, expected, "{value}");
        assert_eq!(incoming.request.prompt().native, None, "{value}");
    }
    let subset = field(
        "tool_choice",
        r#"{"type":"allowed_tools","allowed_tools":{}}"#,
    );
    assert!(
        subset
            .request
            .prompt()
            .native
            .as_ref()
            .unwrap()
            .get("tool_choice")
            .is_some()
    );
}

#[test]
fn every_form_of_response_format_is_read() {
    let output = |value: &str| {
        field("response_format", value)
            .request
            .prompt()
            .output
            .clone()
    };
    assert_eq!(output(r#"{"type":"text"}"#), OutputFormat::Text);
    assert_eq!(output("null"), OutputFormat::Text);
    assert_eq!(output(r#"{"type":"json_object"}"#), OutputFormat::Json);
    let OutputFormat::Schema(schema) = output(
        r#"{"type":"json_schema","json_schema":{"name":"n","schema":{"a": 1},"strict":true}}"#,
    ) else {
        panic!("no schema");
    };
    assert_eq!(schema.schema.as_str(), r#"{"a": 1}"#);
    assert_eq!(
        (schema.name.as_deref(), schema.strict),
        (Some("n"), Some(true))
    );
    assert!(matches!(
        output(r#"{"type":"json_object","schema":{}}"#),
        OutputFormat::Schema(_)
    ));
}

#[test]
fn settings_are_read_under_every_alias() {
    assert_eq!(
        field("max_tokens", "5").request.prompt().max_tokens,
        Some(5)
    );
    assert_eq!(
        field("max_completion_tokens", "5.0")
            .request
            .prompt()
            .max_tokens,
        Some(5)
    );
    assert_eq!(field("stop", r#""a""#).request.prompt().stop, ["a"]);
    assert_eq!(
        field("stop", r#"["a","b"]"#).request.prompt().stop,
        ["a", "b"]
    );
    assert_eq!(
        field("reasoning_effort", r#""xhigh""#)
            .request
            .prompt()
            .effort,
        Some(Effort::XHigh)
    );
    assert_eq!(
        field("reasoning", r#"{"effort":"low"}"#)
            .request
            .prompt()
            .effort,
        Some(Effort::Low)
    );
    assert_eq!(
        field("reasoning", r#"{"max_tokens":9}"#)
            .request
            .prompt()
            .reasoning_budget,
        Some(9)
    );
    assert_eq!(
        field("user", r#""u""#).request.prompt().user.as_deref(),
        Some("u")
    );
    assert_eq!(
        field("safety_identifier", r#""u""#)
            .request
            .prompt()
            .user
            .as_deref(),
        Some("u")
    );
    assert!(field("stream_options", r#"{"include_usage":true}"#).stream_usage);
    assert!(field("stream", "true").stream);
    let unknown = field("reasoning_effort", r#""heroic""#);
    assert_eq!(unknown.request.prompt().effort, None);
    assert!(
        unknown.request.prompt().native.is_some(),
        "an unknown value is kept"
    );
}

#[test]
fn invalid_requests_are_rejected_with_the_json_path() {
    let rows = [
        (r#"{"model":"a","model":"b"}"#, "model: duplicate key"),
        (
            r#"{"messages":[{"role":"user","role":"system"}]}"#,
            "messages[0].role: duplicate key",
        ),
        (
            r#"{"messages":[{"content":[{"type":"text","type":"x"}]}]}"#,
            "messages[0].content[0].type: duplicate key",
        ),
        (
            r#"{"temperature":"hot"}"#,
            "temperature: expected a number, found a string",
        ),
        (
            r#"{"messages":{}}"#,
            "messages: expected an array, found an object",
        ),
        (
            r#"{"max_tokens":-1}"#,
            "max_tokens: expected a non-negative integer, found -1",
        ),
        ("[]", "expected an object, found an array"),
        ("", "expected a value, found the end of the input"),
    ];
    for (body, expected) in rows {
        let error = Chat.read_request(Bytes::from(body.to_owned())).unwrap_err();
        assert_eq!(error.to_string(), expected, "{body}");
    }
    let error = Chat
        .read_request(Bytes::from_static(b"{\"a\":\"\xff\"}"))
        .unwrap_err();
    assert_eq!(error.to_string(), "invalid UTF-8 at byte 6");
}

proptest! {
    #[test]
    fn no_body_makes_the_readers_panic(body in r#"\{("(model|messages|tools|content|role|stream|tool_choice)":("x"|\[|\]|\{|\}|null|1|true|,)*,?){0,6}\}"#) {
        let _ = Chat.read_request(Bytes::from(body.clone()));
        let _ = Chat.read_response(Bytes::from(body.clone()), 0);
        let _ = Chat.read_models(body.as_bytes());
    }
}
