//! Requests with more elements than `[server]` allows.

use majordomo_testkit::{Script, Upstream};
use majordomo_wire::Protocol;

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires::provider;

const LIMITS: &str = "[server]\nmax_messages = 2\nmax_parts = 4\nmax_images = 1\nmax_tools = 1\nmax_stops = 1\nmax_fields = 3\n";

async fn start() -> (Upstream, TestGateway) {
    let upstream = Upstream::start([Script::new()]).await;
    let provider = provider("up", Protocol::Chat, upstream.address());
    let gateway = TestGateway::start(&format!("{LIMITS}{provider}")).await;
    (upstream, gateway)
}

fn rejection(what: &str, setting: &str) -> String {
    format!("{what} (`{setting}` in [server])")
}

#[tokio::test]
async fn every_dialect_names_the_exceeded_limit() {
    let (upstream, gateway) = start().await;
    let output = r#"{"role":"user","content":"hi"}"#;
    let content = r#"{"role":"user","parts":[{"text":"hi"}]}"#;
    let messages = "3 messages, and the limit is 2";
    let stops = "2 stop sequences, and the limit is 1";
    let list = format!("[{output},{output},{output}]");
    let received = format!(r#"{{"model":"up/m0","messages":{list}}}"#);
    let contents = format!(r#"{{"contents":[{content},{content},{content}]}}"#);
    let input = format!(r#"{{"model":"up/m0","input":{list}}}"#);
    let prompt = r#"{"model":"up/m0","prompt":"hi","options":{"stop":["a","b"]}}"#.to_owned();
    let gemini = "/v1beta/models/up/m0";
    let rows = [
        (
            "/v1/chat/completions",
            &received,
            messages,
            "/error/message",
        ),
        ("/v1/responses", &input, messages, "/error/message"),
        ("/v1/messages", &received, messages, "/error/message"),
        (
            "/v1/messages/count_tokens",
            &received,
            messages,
            "/error/message",
        ),
        (
            &format!("{gemini}:generateContent"),
            &contents,
            messages,
            "/error/message",
        ),
        (
            &format!("{gemini}:countTokens"),
            &contents,
            messages,
            "/error/message",
        ),
        ("/api/chat", &received, messages, "/error"),
        ("/api/generate", &prompt, stops, "/error"),
    ];
    for (path, body, what, place) in rows {
        let response = gateway.post(path, body.clone()).await;
        assert_eq!(response.status, 400, "{path}: {}", response.text());
        let response = response.json();
        let text = response.pointer(place).and_then(|text| text.as_str());
        let setting = if what == stops {
            "max_stops"
        } else {
            "max_messages"
        };
        let text = text.unwrap_or_else(|| panic!("{path}: {response}"));
        assert!(text.contains(&rejection(what, setting)), "{path}: {text}");
    }
    assert!(upstream.requests().is_empty(), "no target was called");
}

#[tokio::test]
async fn every_kind_of_element_has_a_limit() {
    let (_upstream, gateway) = start().await;
    let image = r#"{"type":"image_url","image_url":{"url":"https://pictures.example/1"}}"#;
    let text = r#"{"type":"text","text":"x"}"#;
    let tool = r#"{"type":"function","function":{"name":"f"}}"#;
    let with = |content: &str, rest: &str| {
        format!(r#"{{"model":"up/m0","messages":[{{"role":"user","content":{content}}}]{rest}}}"#)
    };
    let rows = [
        (
            with(&format!("[{text},{text},{text},{text},{text}]"), ""),
            "max_parts",
        ),
        (with(&format!("[{image},{image}]"), ""), "max_images"),
        (
            with("\"x\"", &format!(r#","tools":[{tool},{tool}]"#)),
            "max_tools",
        ),
        (with("\"x\"", r#","stop":["a","b"]"#), "max_stops"),
        (with("\"x\"", r#","a":1,"b":2,"c":3,"d":4"#), "max_fields"),
    ];
    for (body, setting) in rows {
        let response = gateway.post("/v1/chat/completions", body.clone()).await;
        assert_eq!(response.status, 400, "{body}: {}", response.text());
        assert!(response.text().contains(setting), "{}", response.text());
        let explained = gateway
            .send_to_operator("/api/explain", &[], body.as_bytes())
            .await;
        assert_eq!(explained.status, 400, "{body}: {}", explained.text());
        assert!(explained.text().contains(setting), "{}", explained.text());
    }
}

#[tokio::test]
async fn a_body_with_too_many_values_is_rejected_before_decoding_in_every_dialect() {
    let upstream = Upstream::start([Script::new()]).await;
    let provider = provider("up", Protocol::Chat, upstream.address());
    let gateway = TestGateway::start(&format!("[server]\nmax_values = 50\n{provider}")).await;
    // None of these is valid: nothing beyond the limit is parsed.
    let shapes = [
        (
            r#"{"model":"up/m0","messages":[{"role":"user","images":[LIST]}]}"#,
            r#""""#,
        ),
        (r#"{"model":"up/m0","input":[LIST]}"#, "{}"),
        (
            r#"{"model":"up/m0","messages":[{"tool_calls":[LIST]}]}"#,
            r#"{"function":{}}"#,
        ),
        (r#"{"model":"up/m0","stop":[LIST],"messages":[]}"#, r#""""#),
        (r#"{"contents":[LIST]}"#, "{}"),
        (r#"{"model":"up/m0","messages":[LIST"#, "[["),
    ];
    let paths = [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1beta/models/up/m0:generateContent",
        "/api/chat",
        "/api/generate",
    ];
    for path in paths {
        for (body, element) in shapes {
            let body = body.replace("LIST", &vec![element; 60].join(","));
            let response = gateway.post(path, body.clone()).await;
            assert_eq!(response.status, 400, "{path} {body}: {}", response.text());
            let text = response.text();
            assert!(text.contains("`max_values`"), "{path} {body}: {text}");
        }
    }
    assert!(upstream.requests().is_empty(), "nothing is sent upstream");
}
