use majordomo_llm::{Effort, OutputFormat, Part, Role};
use proptest::prelude::*;

use super::*;

fn field(name: &str, value: &str) -> Incoming {
    read(&format!(
        r#"{{"model":"x","messages":[],"{name}":{value}}}"#
    ))
}

fn option(name: &str, value: &str) -> majordomo_llm::Request {
    field("options", &format!(r#"{{"{name}":{value}}}"#)).request
}

#[test]
fn a_missing_stream_field_means_streaming() {
    assert!(read(r#"{"model":"x","messages":[]}"#).stream);
    assert!(field("stream", "null").stream);
    assert!(field("stream", "true").stream);
    assert!(!field("stream", "false").stream);
}

#[test]
fn each_message_is_read_with_its_role() {
    let incoming = read(
        r#"{"model":"x","messages":[
            {"role":"system","content":"a"},
            {"role":"user","content":"b","name":"ann"},
            {"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"c1","function":{"index":0,"name":"t","arguments":{"x": 1}}}]},
            {"role":"tool","content":"d","tool_name":"t","tool_call_id":"c1"},
            {"role":"critic","content":null}]}"#,
    );
    let messages = &incoming.request.prompt().messages;
    let roles: Vec<_> = messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [
            Role::System,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::User
        ]
    );
    let native = |n: usize| messages[n].native.as_ref().unwrap();
    assert_eq!(native(1).get("name").unwrap().as_str(), "\"ann\"");
    assert_eq!(native(4).get("role").unwrap().as_str(), "\"critic\"");
    assert!(matches!(&messages[2].parts[0], Part::Reasoning(r) if r.text == "hm"));
    let call = messages[2].tool_calls().next().unwrap();
    assert_eq!((&*call.id, &*call.arguments), ("c1", r#"{"x": 1}"#));
    assert!(call.native.is_none(), "the index is not kept");
    let result = messages[3].tool_results().next().unwrap();
    assert_eq!((&*result.call_id, &*result.text()), ("c1", "d"));
}

#[test]
fn image_types_are_sniffed_for_every_role() {
    let incoming = read(&format!(
        r#"{{"messages":[
            {{"role":"user","content":"see","images":["{PNG_TEXT}","data:image/x;base64,{PNG_TEXT}"]}},
            {{"role":"tool","content":"","images":["{PNG_TEXT}"]}},
            {{"role":"user","content":"hear","images":["UklGRgAAAABXQVZF","no base64"]}}]}}"#
    ));
    let messages = &incoming.request.prompt().messages;
    let is_png = |part: &Part| matches!(part, Part::Image(i) if i.media_type == "image/png" && i.data[..] == PNG[..]);
    assert!(messages[0].parts[1..].iter().all(is_png));
    let result = messages[1].tool_results().next().unwrap();
    assert!(result.parts.iter().all(is_png) && result.parts.len() == 1);
    for part in &messages[2].parts[1..] {
        assert!(matches!(part, Part::Opaque(block) if block.kind == "images"));
    }
}

#[test]
fn calls_get_ids_and_results_are_matched_with_their_call() {
    let incoming = read(
        r#"{"messages":[
            {"role":"assistant","content":"","tool_calls":[
                {"function":{"name":"a","arguments":{}}},
                {"id":"call_1","function":{"name":"b","arguments":{}}},
                {"function":{"name":"c","arguments":{}}}]},
            {"role":"tool","content":"C","tool_name":"c"},
            {"role":"tool","content":"B","tool_call_id":"call_1"},
            {"role":"tool","content":"A"}]}"#,
    );
    let messages = &incoming.request.prompt().messages;
    let ids: Vec<_> = messages[0].tool_calls().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["call_0", "call_1", "call_2"]);
    let results: Vec<_> = messages[1..]
        .iter()
        .flat_map(|m| m.tool_results())
        .map(|r| (r.call_id.as_str(), r.name.as_deref().unwrap()))
        .collect();
    assert_eq!(results, [("call_2", "c"), ("call_1", "b"), ("call_0", "a")]);
}

#[test]
fn every_form_of_format_is_read() {
    let output = |value: &str| field("format", value).request.prompt().output.clone();
    for nothing in ["null", "\"\""] {
        assert_eq!(output(nothing), OutputFormat::Text);
    }
    assert_eq!(output("\"json\""), OutputFormat::Json);
    assert!(
        matches!(output(r#"{"type": "object"}"#), OutputFormat::Schema(s) if s.schema.as_str() == r#"{"type": "object"}"#)
    );
    let unknown = field("format", "\"yaml\"").request;
    assert!(
        unknown
            .prompt()
            .native
            .as_ref()
            .unwrap()
            .get("format")
            .is_some()
    );
}

#[test]
fn every_form_of_think_is_read() {
    let rows = [
        ("null", None),
        ("false", Some(Effort::None)),
        ("true", Some(Effort::Medium)),
        ("\"low\"", Some(Effort::Low)),
        ("\"high\"", Some(Effort::High)),
        ("\"max\"", Some(Effort::Max)),
        ("\"heroic\"", None),
    ];
    for (value, expected) in rows {
        assert_eq!(
            field("think", value).request.prompt().effort,
            expected,
            "{value}"
        );
    }
    let unknown = field("think", "\"heroic\"").request;
    assert!(
        unknown.prompt().native.is_some(),
        "an unknown value is kept"
    );
}

#[test]
fn options_are_read_and_unknown_ones_are_kept() {
    assert_eq!(option("num_predict", "5").prompt().max_tokens, Some(5));
    assert_eq!(option("temperature", "0.5").prompt().temperature, Some(0.5));
    assert_eq!(option("top_p", "0.5").prompt().top_p, Some(0.5));
    assert_eq!(option("top_k", "40").prompt().top_k, Some(40));
    assert_eq!(option("seed", "-1").prompt().seed, Some(-1));
    assert_eq!(
        option("presence_penalty", "1").prompt().presence_penalty,
        Some(1.0)
    );
    assert_eq!(
        option("frequency_penalty", "1").prompt().frequency_penalty,
        Some(1.0)
    );
    assert_eq!(option("stop", r#"["a","b"]"#).prompt().stop, ["a", "b"]);
    assert_eq!(option("stop", r#""a""#).prompt().stop, ["a"]);
    for (name, value) in [
        ("num_ctx", "8192"),
        ("mirostat", "1"),
        ("num_predict", "-1"),
    ] {
        let request = option(name, value);
        let native = request.prompt().native.as_ref().unwrap();
        let kept = native.get(&format!("options.{name}")).unwrap();
        assert_eq!(kept.as_str(), value);
        assert_eq!(request.prompt().max_tokens, None);
    }
}

#[test]
fn default_values_are_read_as_unset() {
    let incoming = read(
        r#"{"model":"x","messages":[],"tools":[],"format":"","options":{},"keep_alive":null,"think":null}"#,
    );
    assert_eq!(*incoming.request.prompt(), majordomo_llm::Prompt::default());
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
            r#"{"options":{"seed":1,"seed":2}}"#,
            "options.seed: duplicate key",
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"text"}]}]}"#,
            "messages[0].content: expected a string, found an array",
        ),
        (
            r#"{"options":{"temperature":"hot"}}"#,
            "options.temperature: expected a number, found a string",
        ),
        ("[]", "expected an object, found an array"),
    ];
    for (body, expected) in rows {
        let error = CHAT.read_request(Bytes::from(body)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{body}");
    }
    let deep = format!(r#"{{"x":{}1{}}}"#, "[".repeat(200), "]".repeat(200));
    let error = CHAT.read_request(Bytes::from(deep)).unwrap_err();
    assert!(error.to_string().contains("nested deeper"), "{error}");
}

proptest! {
    #[test]
    fn no_body_makes_the_readers_panic(body in r#"\{("(model|messages|prompt|images|tools|content|options|think|format|message|done)":("x"|\[|\]|\{|\}|null|1|true|,)*,?){0,6}\}"#) {
        let _ = CHAT.read_request(Bytes::from(body.clone()));
        let _ = CHAT.read_response(Bytes::from(body.clone()), 0);
        let _ = CHAT.read_models(body.as_bytes());
        let _ = crate::ollama::read_show(body.as_bytes());
    }
}
