use majordomo_llm::{Effort, OutputFormat, Part, Role, ToolChoice};
use proptest::prelude::*;

use super::*;

fn field(name: &str, value: &str) -> Incoming {
    read(&format!(
        r#"{{"model":"x","input":"hi","tools":[{{"type":"function","name":"t"}}],"{name}":{value}}}"#
    ))
}

fn native_of(incoming: &Incoming, name: &str) -> Option<String> {
    let native = incoming.request.prompt().native.as_ref()?;
    native.get(name).map(|value| value.as_str().to_owned())
}

#[test]
fn a_string_input_is_a_user_message_and_instructions_are_system() {
    let incoming = read(r#"{"model":"x","instructions":"be terse","input":"hi","stream":true}"#);
    assert_eq!(incoming.model.as_deref(), Some("x"));
    assert!(incoming.stream && incoming.stream_usage);
    assert_eq!(incoming.request.prompt().system[0].text, "be terse");
    assert_eq!(incoming.request.prompt().messages[0].role, Role::User);
    assert_eq!(incoming.request.prompt().messages[0].text(), "hi");
    assert!(incoming.request.prompt().native.is_none());
}

#[test]
fn items_are_read_one_to_one() {
    let incoming = read(
        r#"{"input":[
            {"role":"developer","content":"a"},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]},
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"c"},{"type":"summary_text","text":"d"}],"encrypted_content":"XYZ"},
            {"arguments":"{}","call_id":"c1","name":"t","type":"function_call","id":"fc_1","status":"completed"},
            {"type":"function_call_output","call_id":"c1","output":"e"},
            {"role":"assistant","content":[{"type":"output_text","text":"f","annotations":[]},{"type":"refusal","refusal":"g"}],"phase":"final_answer","id":"msg_1","status":null},
            {"type":"custom_tool_call","call_id":"c2","name":"patch","input":"x"},
            {"type":"custom_tool_call_output","call_id":"c2","output":"y"},
            {"type":"item_reference","id":"z"},
            {"type":"additional_tools","role":"developer","tools":[]}]}"#,
    );
    let messages = &incoming.request.prompt().messages;
    let roles: Vec<_> = messages.iter().map(|m| m.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(
        roles,
        [
            System, User, Assistant, Assistant, Tool, Assistant, Assistant, Tool, Assistant, System
        ]
    );
    let role = messages[0].native.as_ref().unwrap().get("role").unwrap();
    assert_eq!(role.as_str(), "\"developer\"");
    let Part::Reasoning(reasoning) = &messages[2].parts[0] else {
        panic!("{:?}", messages[2]);
    };
    assert_eq!(reasoning.text, "c\n\nd");
    let state = reasoning.native.as_ref().unwrap();
    let names: Vec<_> = state.fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["id", "summary", "encrypted_content"]);
    let call = messages[3].tool_calls().next().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "t"));
    let result = messages[4].tool_results().next().unwrap();
    assert_eq!((&*result.call_id, &*result.text()), ("c1", "e"));
    let message = &messages[5];
    assert!(matches!(&message.parts[1], Part::Refusal(text) if text.text == "g"));
    assert!(
        message.parts[0].native().is_none(),
        "no annotations are none"
    );
    let names: Vec<_> = message.native.as_ref().unwrap().fields().collect();
    assert_eq!(names.len(), 2, "phase and id, but not a null: {names:?}");
    let call = messages[6].tool_calls().next().unwrap();
    assert_eq!(
        (&*call.name, &*call.arguments),
        ("patch", r#"{"input":"x"}"#)
    );
    let result = messages[7].tool_results().next().unwrap();
    assert_eq!((&*result.call_id, &*result.text()), ("c2", "y"));
    for (message, kind) in messages[8..]
        .iter()
        .zip(["item_reference", "additional_tools"])
    {
        assert!(
            matches!(&message.parts[..], [Part::Opaque(block)] if block.kind == kind),
            "{kind}"
        );
    }
}

#[test]
fn every_kind_of_content_is_read_even_in_tool_outputs() {
    let list = r#"[
        {"type":"input_text","text":"t","prompt_cache_breakpoint":{"mode":"explicit"}},
        {"type":"input_image","image_url":"data:image\/png;base64,AQID","detail":"low","file_id":null},
        {"type":"input_image","image_url":"https://x.example/a.png"},
        {"type":"input_file","file_data":"data:application/pdf;base64,AQID","filename":"a.pdf"},
        {"type":"input_file","file_id":"f1"},
        {"type":"input_image","file_id":"f2","image_url":null},
        {"type":"hologram","depth":3}]"#;
    let incoming = read(&format!(
        r#"{{"input":[{{"role":"user","content":{list}}},{{"type":"function_call_output","call_id":"c","output":{list}}}]}}"#
    ));
    let result = incoming.request.prompt().messages[1]
        .tool_results()
        .next()
        .unwrap();
    for parts in [&incoming.request.prompt().messages[0].parts, &result.parts] {
        let mark = parts[0].native().unwrap().get("prompt_cache_breakpoint");
        assert!(mark.is_some());
        assert!(
            matches!(&parts[1], Part::Image(i) if i.media_type == "image/png" && i.data == [1, 2, 3][..])
        );
        let names: Vec<_> = parts[1].native().unwrap().fields().collect();
        assert_eq!(names.len(), 1, "the detail, but not a null: {names:?}");
        assert!(matches!(&parts[2], Part::RemoteImage(i) if i.url == "https://x.example/a.png"));
        assert!(matches!(&parts[3], Part::File(f) if f.name.as_deref() == Some("a.pdf")));
        for (part, kind) in parts[4..]
            .iter()
            .zip(["input_file", "input_image", "hologram"])
        {
            assert!(
                matches!(part, Part::Opaque(b) if b.kind == format!("content.{kind}")),
                "{part:?}"
            );
        }
    }
}

#[test]
fn every_form_of_tool_choice_is_read() {
    let rows = [
        (r#""auto""#, ToolChoice::Auto),
        (r#""none""#, ToolChoice::None),
        (r#""required""#, ToolChoice::Required),
        (r#"null"#, ToolChoice::Auto),
        (
            r#"{"type":"function","name":"t"}"#,
            ToolChoice::Named("t".into()),
        ),
        (
            r#"{"type":"custom","name":"t"}"#,
            ToolChoice::Named("t".into()),
        ),
    ];
    for (value, expected) in rows {
        let incoming = field("tool_choice", value);
        assert_eq!(incoming.request.prompt().tool_choice, expected, "{value}");
        assert!(incoming.request.prompt().native.is_none(), "{value}");
    }
    for value in [
        r#"{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"t"}]}"#,
        r#"{"type":"mcp","server_label":"s"}"#,
        r#""later""#,
    ] {
        let kept = native_of(&field("tool_choice", value), "tool_choice");
        assert_eq!(kept.as_deref(), Some(value));
    }
}

#[test]
fn every_output_format_is_read() {
    let text = |format: &str| field("text", &format!(r#"{{"format":{format}}}"#));
    assert_eq!(
        text(r#"{"type":"text"}"#).request.prompt().output,
        OutputFormat::Text
    );
    assert_eq!(
        text(r#"{"type":"json_object"}"#).request.prompt().output,
        OutputFormat::Json
    );
    let schema = text(
        r#"{"type":"json_schema","name":"n","schema":{"b": 1},"strict":true,"description":"d"}"#,
    );
    let OutputFormat::Schema(read) = &schema.request.prompt().output else {
        panic!("{:?}", schema.request.prompt().output);
    };
    assert_eq!(read.schema.as_str(), r#"{"b": 1}"#);
    assert_eq!((read.name.as_deref(), read.strict), (Some("n"), Some(true)));
    let description = native_of(&schema, "text.format.description");
    assert_eq!(description.as_deref(), Some("\"d\""));
    let unknown = text(r#"{"type":"haiku"}"#);
    assert!(native_of(&unknown, "text.format").is_some());
    let verbose = field("text", r#"{"verbosity":"low"}"#);
    assert!(native_of(&verbose, "text.verbosity").is_some());
}

#[test]
fn settings_are_read_and_unmodeled_ones_are_kept() {
    let incoming = field(
        "reasoning",
        r#"{"effort":"xhigh","summary":"auto"},"max_output_tokens":5,"temperature":0.5,"top_p":1,
            "prompt_cache_key":"k","safety_identifier":"u","parallel_tool_calls":false,"store":false,
            "previous_response_id":"resp_0","include":["reasoning.encrypted_content"],"metadata":{"a":"b"}"#,
    );
    let request = &incoming.request;
    assert_eq!(request.prompt().effort, Some(Effort::XHigh));
    assert_eq!(request.prompt().max_tokens, Some(5));
    assert_eq!(
        (request.prompt().temperature, request.prompt().top_p),
        (Some(0.5), Some(1.0))
    );
    assert_eq!(request.prompt().cache_key.as_deref(), Some("k"));
    assert_eq!(request.prompt().user.as_deref(), Some("u"));
    assert_eq!(request.prompt().parallel_tool_calls, Some(false));
    let names: Vec<_> = request.prompt().native.as_ref().unwrap().fields().collect();
    let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "reasoning.summary",
            "store",
            "previous_response_id",
            "include",
            "metadata"
        ]
    );
    let unknown = field("reasoning", r#"{"effort":"heroic"}"#);
    assert!(native_of(&unknown, "reasoning.effort").is_some());
}

#[test]
fn user_is_read_if_safety_identifier_is_absent() {
    assert_eq!(
        field("user", "\"a\"").request.prompt().user.as_deref(),
        Some("a")
    );
    let both = field("user", r#""a","safety_identifier":"b""#);
    assert_eq!(both.request.prompt().user.as_deref(), Some("b"));
    assert!(native_of(&both, "user").is_some());
}

#[test]
fn functions_are_tools_and_all_others_are_kept_verbatim() {
    let incoming = read(
        r#"{"input":"","tools":[
            {"type":"function","name":"t","description":"d","parameters":{"a":1},"strict":null,"defer_loading":true},
            {"name":"u","parameters":null},
            {"type":"mcp","name":"patch"},
            {"type":"web_search"}]}"#,
    );
    let request = &incoming.request;
    assert_eq!(request.prompt().tools.len(), 2);
    assert_eq!(
        request.prompt().tools[0]
            .parameters
            .as_ref()
            .unwrap()
            .as_str(),
        r#"{"a":1}"#
    );
    assert!(
        request.prompt().tools[0]
            .native
            .as_ref()
            .unwrap()
            .get("defer_loading")
            .is_some()
    );
    assert!(request.prompt().tools[1].parameters.is_none());
    let kinds: Vec<_> = request
        .prompt()
        .hosted_tools
        .iter()
        .map(|t| &*t.kind)
        .collect();
    assert_eq!(kinds, ["mcp", "web_search"]);
}

#[test]
fn invalid_requests_are_rejected_with_the_path() {
    let deep = format!(r#"{{"metadata":{}}}"#, "[".repeat(200));
    let rows = [
        (r#"{"input":7}"#, "input: expected an array, found a number"),
        (
            r#"{"input":[{"role":7}]}"#,
            "input[0].role: expected a string, found a number",
        ),
        (r#"{"input":"a","input":"b"}"#, "input: duplicate key"),
        (
            r#"{"input":[{"role":"user","role":"system"}]}"#,
            "input[0].role: duplicate key",
        ),
        (
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"a","text":"b"}]}]}"#,
            "input[0].content[0].text: duplicate key",
        ),
        (&deep, "nested deeper than 128 levels"),
        ("[]", "expected an object, found an array"),
    ];
    for (body, expected) in rows {
        let error = Responses
            .read_request(Bytes::from(body.to_owned()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(body in r#"[\{\}\[\]":,a-z0-9 ]{0,60}"#) {
        let _ = Responses.read_request(Bytes::from(body));
    }

    #[test]
    fn arbitrary_items_do_not_panic(kind in "(message|reasoning|function_call|function_call_output|x)", value in r#"("s"|7|null|\[\]|\{\}|\["a"\]|\[\{"type":"input_text"\}\])"#, key in "(role|content|summary|output|call_id|name|arguments|id)") {
        let body = format!(r#"{{"input":[{{"type":"{kind}","{key}":{value}}}]}}"#);
        if let Ok(incoming) = Responses.read_request(Bytes::from(body)) {
            prop_assert_eq!(incoming.request.prompt().messages.len(), 1);
            let prompt = majordomo_llm::Prompt::clone(incoming.request.prompt());
            write(&prompt.into());
        }
    }
}
