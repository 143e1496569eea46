use majordomo_llm::{Effort, OutputFormat, Part, Role, ToolChoice};
use proptest::prelude::*;

use super::*;

fn field(name: &str, value: &str) -> Incoming {
    read(&format!(
        r#"{{"model":"x","max_tokens":9,"messages":[],"tools":[{{"name":"t","input_schema":{{}}}}],"{name}":{value}}}"#
    ))
}

fn native(incoming: &Incoming) -> Vec<(String, String)> {
    let fields = incoming
        .request
        .prompt()
        .native
        .iter()
        .flat_map(|n| n.fields());
    fields
        .map(|(name, value)| (name.to_owned(), value.as_str().to_owned()))
        .collect()
}

#[test]
fn messages_are_read_one_to_one_with_their_roles() {
    let incoming = read(
        r#"{"messages":[
            {"role":"user","content":"a"},
            {"role":"user","content":[{"type":"text","text":"b"}],"x":1},
            {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"t","input":{"k": 1},"caller":{"type":"direct"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"d"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"},{"type":"text","text":"e"}]},
            {"role":"system","content":[{"type":"text","text":"f"},{"type":"tool_addition","tool":{}}]},
            {"role":"critic","content":""}]}"#,
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
            Role::User,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::User,
            Role::System,
            Role::User
        ],
        "a message of nothing but results is the tools'"
    );
    let call = incoming.request.prompt().messages[2]
        .tool_calls()
        .next()
        .unwrap();
    assert_eq!(call.arguments, r#"{"k": 1}"#);
    assert!(call.native.as_ref().unwrap().get("caller").is_some());
    let messages = &incoming.request.prompt().messages;
    assert!(messages[1].native.as_ref().unwrap().get("x").is_some());
    assert!(matches!(&messages[5].parts[1], Part::Opaque(b) if b.kind == "tool_addition"));
    let role = messages[6].native.as_ref().unwrap().get("role").unwrap();
    assert_eq!(role.as_str(), "\"critic\"");
    assert!(messages[6].parts.is_empty());
}

#[test]
fn every_kind_of_content_is_read() {
    let incoming = read(
        r#"{"messages":[{"role":"user","content":[
            "bare",
            {"type":"text","text":"t","cache_control":{"type":"ephemeral"},"citations":[]},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID","x":1}},
            {"type":"image","source":{"type":"url","url":"https://x.example/a.png"},"cache_control":null},
            {"source":{"data":"AQID","media_type":"application/pdf","type":"base64"},"title":"a.pdf","type":"document","context":"c"},
            {"type":"document","source":{"type":"text","media_type":"text/plain","data":"plain"}},
            {"type":"image","source":{"type":"file","file_id":"f1"}},
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"??"}},
            {"type":"document","source":{"type":"url","url":"https://x.example/a.pdf"}},
            {"type":"container_upload","file_id":"f"},
            {"type":"text"},
            {"depth":3}]}]}"#,
    );
    let parts = &incoming.request.prompt().messages[0].parts;
    assert!(matches!(&parts[0], Part::Text(t) if t.text == "bare"));
    let cached = parts[1].native().unwrap();
    assert!(cached.get("cache_control").is_some() && cached.get("citations").is_none());
    assert!(
        matches!(&parts[2], Part::Image(i) if i.media_type == "image/png" && i.data == [1, 2, 3][..])
    );
    assert!(parts[2].native().unwrap().get("source.x").is_some());
    assert!(matches!(&parts[3], Part::RemoteImage(i) if i.url == "https://x.example/a.png"));
    assert!(parts[3].native().is_none(), "null is absent");
    assert!(
        matches!(&parts[4], Part::File(f) if f.name.as_deref() == Some("a.pdf") && f.data == [1, 2, 3][..])
    );
    assert!(parts[4].native().unwrap().get("context").is_some());
    assert!(matches!(&parts[5], Part::File(f) if f.data == "plain"));
    let kinds = ["image", "image", "document", "container_upload", "text", ""];
    assert_eq!(parts[6..].len(), kinds.len());
    for (part, kind) in parts[6..].iter().zip(kinds) {
        assert!(
            matches!(part, Part::Opaque(block) if block.kind == kind),
            "{kind}"
        );
    }
}

#[test]
fn thinking_keeps_its_signature_or_data() {
    let incoming = read(
        r#"{"messages":[{"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","signature":"s1"},
            {"type":"thinking","thinking":"","signature":"s2"},
            {"type":"thinking","thinking":"unsigned"},
            {"type":"redacted_thinking","data":"d"}]}]}"#,
    );
    let parts = &incoming.request.prompt().messages[0].parts;
    let rows = [
        ("hm", "signature", "\"s1\""),
        ("", "signature", "\"s2\""),
        ("unsigned", "field", "\"thinking\""),
        ("", "data", "\"d\""),
    ];
    for (part, (text, name, value)) in parts.iter().zip(rows) {
        assert!(matches!(part, Part::Reasoning(r) if r.text == text));
        let native = part.native().unwrap();
        assert_eq!(*native.dialect(), MESSAGES);
        assert_eq!(native.get(name).unwrap().as_str(), value);
    }
}

#[test]
fn tool_results_are_read_in_every_form_and_key_order() {
    let incoming = read(
        r#"{"messages":[{"role":"user","content":[
            {"type":"tool_result","tool_use_id":"a","content":"text","is_error":true},
            {"content":[{"text":"t","type":"text"},{"source":{"data":"AQID","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"b","type":"tool_result"},
            {"type":"tool_result","tool_use_id":"c","content":null,"is_error":false,"cache_control":{"type":"ephemeral"}},
            {"type":"tool_result","tool_use_id":"xid_f_2ex_3a0","content":[{"type":"search_result","content":[]}]}]}]}"#,
    );
    let results: Vec<_> = incoming.request.prompt().messages[0]
        .tool_results()
        .collect();
    assert_eq!(
        (results[0].text().as_str(), results[0].is_error),
        ("text", true)
    );
    assert!(matches!(
        &results[1].parts[..],
        [Part::Text(_), Part::Image(_)]
    ));
    assert!(results[2].parts.is_empty() && !results[2].is_error);
    assert!(
        results[2]
            .native
            .as_ref()
            .unwrap()
            .get("cache_control")
            .is_some()
    );
    assert_eq!(results[3].call_id, "f.x:0", "an id of another provider");
    assert!(matches!(&results[3].parts[0], Part::Opaque(b) if b.kind == "search_result"));
}

#[test]
fn system_is_a_string_or_blocks() {
    let system = |value: &str| field("system", value).request.prompt().system.clone();
    assert_eq!(system(r#""a""#)[0].text, "a");
    assert!(system(r#""""#).is_empty() && system("null").is_empty());
    let blocks = system(
        r#"[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"new"}]"#,
    );
    assert_eq!((blocks[0].text.as_str(), &blocks[0].native), ("a", &None));
    assert!(
        blocks[1]
            .native
            .as_ref()
            .unwrap()
            .get("cache_control")
            .is_some()
    );
    assert!(blocks[2].native.as_ref().unwrap().get("block").is_some());
}

#[test]
fn every_form_of_tool_choice_is_read() {
    let rows = [
        (r#"{"type":"auto"}"#, ToolChoice::Auto, None),
        (r#"{"type":"none"}"#, ToolChoice::None, None),
        (
            r#"{"type":"any","disable_parallel_tool_use":true}"#,
            ToolChoice::Required,
            Some(false),
        ),
        (
            r#"{"type":"tool","name":"t","disable_parallel_tool_use":false}"#,
            ToolChoice::Named("t".into()),
            Some(true),
        ),
        ("null", ToolChoice::Auto, None),
    ];
    for (value, choice, parallel) in rows {
        let incoming = field("tool_choice", value);
        assert_eq!(incoming.request.prompt().tool_choice, choice, "{value}");
        assert_eq!(
            incoming.request.prompt().parallel_tool_calls,
            parallel,
            "{value}"
        );
        assert_eq!(incoming.request.prompt().native, None, "{value}");
    }
    let unknown = field("tool_choice", r#"{"type":"some","names":["t"]}"#);
    assert_eq!(native(&unknown)[0].0, "tool_choice");
}

#[test]
fn thinking_and_effort_are_read_together() {
    type ThinkingCase<'a> = (&'a str, Option<Effort>, Option<u64>, &'a [&'a str]);
    let rows: [ThinkingCase<'_>; 9] = [
        (
            r#""output_config":{"effort":"xhigh"}"#,
            Some(Effort::XHigh),
            None,
            &[],
        ),
        (
            r#""thinking":{"type":"adaptive"},"output_config":{"effort":"low"}"#,
            Some(Effort::Low),
            None,
            &[],
        ),
        (
            r#""output_config":{"effort":"low"},"thinking":{"type":"adaptive","display":"omitted"}"#,
            Some(Effort::Low),
            None,
            &["thinking.display"],
        ),
        (
            r#""thinking":{"type":"adaptive"}"#,
            None,
            None,
            &["thinking"],
        ),
        (
            r#""thinking":{"type":"enabled","budget_tokens":2048}"#,
            None,
            Some(2048),
            &[],
        ),
        (
            r#""thinking":{"type":"disabled"}"#,
            Some(Effort::None),
            None,
            &[],
        ),
        (
            r#""thinking":{"type":"disabled"},"output_config":{"effort":"max"}"#,
            Some(Effort::Max),
            None,
            &["thinking"],
        ),
        (
            r#""thinking":{"type":"between_tools"}"#,
            None,
            None,
            &["thinking"],
        ),
        (
            r#""output_config":{"effort":"heroic","task_budget":{"total":5}}"#,
            None,
            None,
            &["output_config.effort", "output_config.task_budget"],
        ),
    ];
    for (fields, effort, budget, kept) in rows {
        let incoming = read(&format!(r#"{{"messages":[],{fields}}}"#));
        assert_eq!(incoming.request.prompt().effort, effort, "{fields}");
        assert_eq!(
            incoming.request.prompt().reasoning_budget,
            budget,
            "{fields}"
        );
        let names: Vec<_> = native(&incoming)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, kept, "{fields}");
    }
}

#[test]
fn settings_are_read_and_unknown_ones_are_kept() {
    for (name, value) in [
        (
            "output_config",
            r#"{"format":{"type":"json_schema","schema":{"a": 1}}}"#,
        ),
        (
            "output_format",
            r#"{"type":"json_schema","schema":{"a": 1}}"#,
        ),
    ] {
        let incoming = field(name, value);
        let OutputFormat::Schema(schema) = &incoming.request.prompt().output else {
            panic!("no schema in {name}");
        };
        assert_eq!(schema.schema.as_str(), r#"{"a": 1}"#);
    }
    assert_eq!(
        field("stop_sequences", r#"["a","b"]"#)
            .request
            .prompt()
            .stop,
        ["a", "b"]
    );
    assert_eq!(field("top_k", "5").request.prompt().top_k, Some(5));
    assert_eq!(field("top_k", "-1").request.prompt().top_k, None);
    assert_eq!(
        field("temperature", "1").request.prompt().temperature,
        Some(1.0)
    );
    let metadata = field("metadata", r#"{"user_id":"u","x":1}"#);
    assert_eq!(metadata.request.prompt().user.as_deref(), Some("u"));
    assert_eq!(native(&metadata), [("metadata.x".into(), "1".into())]);
    let cached = field("cache_control", r#"{"type":"ephemeral","ttl":"1h"}"#);
    assert!(cached.request.prompt().prompt_cache);
    assert_eq!(
        native(&cached),
        [("cache_control.ttl".into(), "\"1h\"".into())]
    );
    let other = field("cache_control", r#"{"type":"eternal"}"#);
    assert!(!other.request.prompt().prompt_cache && native(&other)[0].0 == "cache_control");
    assert!(field("stream", "true").stream && !field("stream", "null").stream);
    assert_eq!(native(&field("speed", "\"fast\""))[0].0, "speed");
}

#[test]
fn hosted_tools_are_kept_verbatim() {
    let incoming = read(
        r#"{"messages":[],"tools":[
            {"name":"a","description":"d","input_schema":{"type":"object"},"strict":true,"defer_loading":true},
            {"type":"custom","name":"b","input_schema":{"type":"object","properties":{}}},
            {"type":"web_search_20250305","name":"web_search","max_uses":3}]}"#,
    );
    let [a, b] = &incoming.request.prompt().tools[..] else {
        panic!("two tools");
    };
    assert_eq!(
        (a.description.as_deref(), a.strict),
        (Some("d"), Some(true))
    );
    assert!(a.native.as_ref().unwrap().get("defer_loading").is_some());
    assert_eq!(b.parameters, None, "a tool that takes nothing");
    assert_eq!(
        incoming.request.prompt().hosted_tools[0].kind,
        "web_search_20250305"
    );
}

#[test]
fn invalid_requests_are_rejected_with_the_path() {
    let deep = format!(r#"{{"x":{}"#, "[".repeat(200));
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
            r#"{"messages":[{"content":[{"type":"tool_result","content":[{"text":"a","text":"b"}]}]}]}"#,
            "messages[0].content[0].content[0].text: duplicate key",
        ),
        (
            r#"{"messages":[{"content":[{"content":[7],"type":"tool_result"}]}]}"#,
            "messages[0].content[0].content[0]: expected an object, found a number",
        ),
        (
            r#"{"thinking":{"type":"enabled","budget_tokens":-1}}"#,
            "thinking.budget_tokens: expected a non-negative integer, found -1",
        ),
        (
            r#"{"messages":{}}"#,
            "messages: expected an array, found an object",
        ),
        ("[]", "expected an object, found an array"),
    ];
    for (body, expected) in rows {
        let error = Messages.read_request(Bytes::from(body)).unwrap_err();
        assert_eq!(error.to_string(), expected, "{body}");
    }
    let error = Messages.read_request(Bytes::from(deep)).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");
}

proptest! {
    #[test]
    fn arbitrary_bodies_do_not_panic(body in r#"\{("(model|messages|tools|content|type|system|thinking|source|input)":("x"|"text"|\[|\]|\{|\}|null|1|true|,)*,?){0,6}\}"#) {
        let _ = Messages.read_request(Bytes::from(body.clone()));
        let _ = Messages.read_response(Bytes::from(body.clone()), 0);
        let _ = Messages.read_models(body.as_bytes());
    }
}
