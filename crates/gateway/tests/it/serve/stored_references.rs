//! Requests that refer to what only the provider has: its own dialect resolves them, and
//! every other target is skipped.

use majordomo::{Part, Response};
use majordomo_testkit::{Script, Upstream};
use majordomo_wire::{Protocol, with_model};

use crate::serve::responses::error_of;
use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

/// A request, without model and stream, that refers to something stored.
struct Row {
    client: Protocol,
    fields: &'static str,
    /// What the refusal names.
    expected: [&'static str; 2],
}

const fn row(client: Protocol, fields: &'static str, expected: [&'static str; 2]) -> Row {
    Row {
        client,
        fields,
        expected,
    }
}

const UNSTORED: &str = "`store: false`";

const ROWS: [Row; 14] = [
    row(
        Protocol::Responses,
        r#""previous_response_id":"resp_0","input":"and then?""#,
        ["`previous_response_id`", UNSTORED],
    ),
    row(
        Protocol::Responses,
        r#""previous_response_id":"resp_0""#,
        ["`previous_response_id`", UNSTORED],
    ),
    row(
        Protocol::Responses,
        r#""conversation":{"id":"conv_0"},"input":"and then?""#,
        ["`conversation`", UNSTORED],
    ),
    row(
        Protocol::Responses,
        r#""prompt":{"id":"pmpt_0","variables":{"a":"b"}}"#,
        ["`prompt`", "its text"],
    ),
    row(
        Protocol::Responses,
        r#""input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"msg_0"},
            {"role":"user","content":"and then?"}]"#,
        ["`item_reference`", UNSTORED],
    ),
    row(
        Protocol::Responses,
        r#""input":[{"id":"msg_0"},{"role":"user","content":"and then?"}]"#,
        ["`item_reference`", UNSTORED],
    ),
    row(
        Protocol::Responses,
        r#""input":[{"type":null,"id":"msg_0"},{"role":"user","content":"and then?"}]"#,
        ["`item_reference`", UNSTORED],
    ),
    row(
        Protocol::Responses,
        r#""input":[{"type":"compaction","id":"cmp_0","encrypted_content":"gAAA"},
            {"role":"user","content":"and then?"}]"#,
        ["`compaction`", "encrypted by the provider"],
    ),
    row(
        Protocol::Responses,
        r#""input":[{"role":"user","content":[{"type":"input_image","file_id":"file_0"}]}]"#,
        ["`content.input_image`", "its bytes"],
    ),
    row(
        Protocol::Responses,
        r#""input":[{"type":"function_call","call_id":"c","name":"look","arguments":"{}"},
            {"type":"function_call_output","call_id":"c","output":[{"type":"input_image","file_id":"file_0"}]}]"#,
        ["`content.input_image`", "its bytes"],
    ),
    row(
        Protocol::Messages,
        r#""max_tokens":9,"thread":{"id":"thr_0"},"messages":[{"role":"user","content":"and then?"}]"#,
        ["`thread`", "thread_unsupported_request"],
    ),
    row(
        Protocol::Messages,
        r#""max_tokens":9,"messages":[{"role":"user","content":[
            {"type":"image","source":{"type":"file","file_id":"file_0"}},{"type":"text","text":"hi"}]}]"#,
        ["`image`", "its bytes"],
    ),
    row(
        Protocol::Gemini,
        r#""cachedContent":"cachedContents/0","contents":[{"role":"user","parts":[{"text":"hi"}]}]"#,
        ["`cachedContent`", "the content itself"],
    ),
    row(
        Protocol::Ollama,
        r#""context":[1,2,3],"messages":[{"role":"user","content":"and then?"}]"#,
        ["`context`", "the whole conversation"],
    ),
];

async fn answering(name: &str, protocol: Protocol, stream: bool) -> (Upstream, String) {
    let response = Response::new(vec![Part::text("Hello.")]);
    let script: Script = wires::answering(protocol, &response, stream);
    let upstream = Upstream::start([script]).await;
    let config = wires::provider(name, protocol, upstream.address());
    (upstream, config)
}

#[tokio::test]
async fn a_reference_to_stored_state_goes_to_its_own_dialect_or_is_rejected() {
    for Row {
        client,
        fields,
        expected,
    } in ROWS
    {
        let foreign = match client {
            Protocol::Chat => Protocol::Messages,
            _ => Protocol::Chat,
        };
        for stream in [false, true] {
            let (own, own_config) = answering("own", client, stream).await;
            let (other, other_config) = answering("other", foreign, stream).await;
            let gateway = TestGateway::start(&(own_config + &other_config)).await;
            let body = |model: &str| match client {
                Protocol::Gemini => format!("{{{fields}}}"),
                _ => format!(r#"{{"model":"{model}","stream":{stream},{fields}}}"#),
            };
            let send = async |model: &str| {
                let path = wires::path(client, model, stream);
                gateway.post(&path, body(model)).await
            };
            let reply = send("own/m0").await;
            assert_eq!(reply.status, 200, "{fields}: {}", reply.text());
            if !matches!(client, Protocol::Gemini | Protocol::Ollama) {
                let passed = own.requests()[0].body.clone();
                assert_eq!(passed, with_model(body("m0").as_bytes(), "m0"));
            }
            let reply = send("other/m0").await;
            assert_eq!(reply.status, 400, "{fields}: {}", reply.text());
            for expected in expected {
                assert!(reply.text().contains(expected), "{}", reply.text());
            }
            let reply = send("other/m0,own/m1").await;
            assert_eq!(reply.header("x-majordomo-target"), Some("own/m1"));
            assert!(other.requests().is_empty());
        }
    }
}

#[tokio::test]
async fn empty_references_refer_to_nothing() {
    let rows = [
        (
            Protocol::Responses,
            r#""input":"hi","previous_response_id":null,"prompt":null"#,
        ),
        (
            Protocol::Ollama,
            r#""context":[],"messages":[{"role":"user","content":"hi"}]"#,
        ),
    ];
    for (client, fields) in rows {
        let (_other, config) = answering("other", Protocol::Chat, false).await;
        let gateway = TestGateway::start(&config).await;
        let body = format!(r#"{{"model":"other/m0","stream":false,{fields}}}"#);
        let path = wires::path(client, "other/m0", false);
        let reply = gateway.post(&path, body).await;
        assert_eq!(reply.status, 200, "{fields}: {}", reply.text());
    }
}

#[tokio::test]
async fn a_request_without_a_conversation_is_rejected_before_any_target_is_called() {
    let rows = [
        (Protocol::Chat, "", "`messages`"),
        (Protocol::Messages, r#","max_tokens":9"#, "`messages`"),
        (Protocol::Responses, "", "`input`"),
        (Protocol::Responses, r#","input":[]"#, "`input`"),
        (Protocol::Responses, r#","input":null"#, "`input`"),
        (Protocol::Gemini, "", "`contents`"),
    ];
    for (client, fields, name) in rows {
        let (own, config) = answering("own", client, false).await;
        let gateway = TestGateway::start(&config).await;
        let body = format!(r#"{{"model":"own/m0"{fields}}}"#);
        let path = wires::path(client, "own/m0", false);
        let reply = gateway.post(&path, body).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        let error = error_of(client, &reply);
        assert!(error.message().contains(name), "{error}");
        assert!(own.requests().is_empty(), "{name}");
    }
}

#[tokio::test]
async fn loading_a_model_of_another_dialect_succeeds_without_a_call() {
    let (other, config) = answering("other", Protocol::Chat, false).await;
    let gateway = TestGateway::start(&config).await;
    for (path, fields) in [
        ("/api/chat", ""),
        ("/api/chat", r#","messages":[],"keep_alive":"5m""#),
        ("/api/generate", ""),
        ("/api/generate", r#","prompt":"","stream":false"#),
    ] {
        let body = format!(r#"{{"model":"other/m0"{fields}}}"#);
        let reply = gateway.post(path, body).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let value: serde_json::Value = serde_json::from_slice(&reply.body).expect("one object");
        assert_eq!(value["done_reason"], "load", "{path}: {value}");
        assert_eq!(value["done"], true);
        assert_eq!(value["model"], "other/m0");
    }
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn an_ollama_server_loads_its_model_itself() {
    let (own, config) = answering("own", Protocol::Ollama, false).await;
    let gateway = TestGateway::start(&config).await;
    let reply = gateway
        .post("/api/chat", r#"{"model":"own/m0","stream":false}"#)
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(own.requests().len(), 1);
}
