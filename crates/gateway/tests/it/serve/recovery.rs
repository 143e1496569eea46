//! The means by which clients recover: recognisable errors, retries that may succeed, and the
//! auxiliary paths that they expect.

use majordomo::{Part, Request, Response};
use majordomo_testkit::{ClosedPort, Script, Upstream};
use majordomo_wire::Protocol;

use crate::serve::responses::{refusing, send_request};
use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

#[tokio::test]
async fn an_overlong_conversation_gets_the_error_that_makes_agents_compact() {
    let closed = ClosedPort::hold();
    let config = wires::provider("up", Protocol::Chat, closed.address());
    let config = config.replace("tools = true", "context_window = 10");
    let gateway = TestGateway::start(&config).await;
    let request = Request::user("word ".repeat(1_000));
    for client in Protocol::ALL {
        let body = wires::request_for(client, &request, "up/m0", false);
        let reply = gateway
            .post(&wires::path(client, "up/m0", false), body)
            .await;
        let output = reply.text();
        assert_eq!(reply.status, 400, "{output}");
        for words in overlong_words(client) {
            assert!(output.contains(words), "{client:?}: {output}");
        }
        assert_eq!(reply.header("x-majordomo-attempts"), Some("0"), "{output}");
    }
}

/// What real clients of a dialect look for: codes, and phrases of their vendor.
fn overlong_words(client: Protocol) -> &'static [&'static str] {
    match client {
        // OpenAI's SDKs and litellm; opencode and pi.
        Protocol::Chat => &[
            r#""code":"context_length_exceeded""#,
            "This model's maximum context length is",
            "reduce the length of the messages",
        ],
        // Codex; opencode and pi.
        Protocol::Responses => &[
            r#""code":"context_length_exceeded""#,
            "exceeds the context window",
        ],
        // Claude Code.
        Protocol::Messages => &["prompt is too long", "invalid_request_error"],
        // opencode and pi.
        Protocol::Gemini => &[
            "INVALID_ARGUMENT",
            "input token count exceeds the maximum number of tokens",
        ],
        Protocol::Ollama => &["the input length exceeds the context length"],
    }
}

#[tokio::test]
async fn an_overlong_stream_of_responses_begins_and_fails() {
    let too_long = r#"{"error":{"message":"too many tokens","code":"context_length_exceeded"}}"#;
    for upstream in Protocol::ALL {
        let live = Upstream::start([refusing(400, "", too_long)]).await;
        let config = wires::provider("up", upstream, live.address());
        let gateway = TestGateway::start(&config).await;
        let reply = send_request(&gateway, Protocol::Responses, "up/m0", true).await;
        let output = reply.text();
        assert_eq!(reply.status, 200, "{output}");
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        let events: Vec<&str> = output
            .lines()
            .filter_map(|line| line.strip_prefix("event: "))
            .collect();
        let expected = [
            "response.created",
            "response.in_progress",
            "error",
            "response.failed",
        ];
        assert_eq!(events, expected, "{upstream:?}");
        for words in overlong_words(Protocol::Responses) {
            assert!(output.contains(words), "{output}");
        }
    }
}

#[tokio::test]
async fn an_overload_keeps_the_status_that_its_clients_retry() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let rows = [
        (529, "", overloaded),
        (503, "", "{}"),
        (503, "retry-after: 30\r\n", "{}"),
        (429, "", "{}"),
    ];
    for (number, (status, header, body)) in rows.into_iter().enumerate() {
        let live = Upstream::start([refusing(status, header, body)]).await;
        let config = wires::provider("up", Protocol::Messages, live.address());
        let gateway = TestGateway::start(&config).await;
        for client in Protocol::ALL {
            for stream in [false, true] {
                let model = format!("up/m{number}{stream}{client:?}");
                // The second one finds the target benched.
                for _ in 0..2 {
                    let reply = send_request(&gateway, client, &model, stream).await;
                    let what = format!("{client:?}, {status}: {}", reply.text());
                    let expected = match client {
                        // Only Anthropic's clients know 529.
                        Protocol::Messages => status,
                        _ if status == 529 => 503,
                        _ => status,
                    };
                    assert_eq!(reply.status, expected, "{what}");
                    assert_eq!(reply.header("x-should-retry"), None, "{what}");
                    let waits = reply.header("retry-after").is_some();
                    assert_eq!(waits, !header.is_empty(), "{what}");
                    if client == Protocol::Messages && status != 429 {
                        assert!(reply.text().contains("overloaded_error"), "{what}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_short_retry_after_is_waited_out_and_can_be_turned_off() {
    let yes = wires::answering(
        Protocol::Chat,
        &Response::new(vec![Part::text("yes")]),
        false,
    );
    for (setting, status) in [("10s", 200), ("off", 429)] {
        let head = "HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";
        let throttled = Script::new().read_request().send(head);
        let live = Upstream::start([throttled, yes.clone()]).await;
        let config = wires::provider("up", Protocol::Chat, live.address());
        let config = format!("[chain]\nmax_retry_after = \"{setting}\"\n{config}");
        let gateway = TestGateway::start(&config).await;
        let reply = send_request(&gateway, Protocol::Chat, "up/m0", false).await;
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}

#[tokio::test]
async fn a_thread_that_a_target_cannot_have_has_the_code_that_tool_runners_know() {
    let gateway = TestGateway::start("").await;
    let body = r#"{"model":"demo/text","max_tokens":9,"thread":{"id":"thread_1"},
        "messages":[{"role":"user","content":"hi"}]}"#;
    let reply = gateway.post("/v1/messages", body).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let code = r#""details":{"error_code":"thread_unsupported_request"}"#;
    assert!(reply.text().contains(code), "{}", reply.text());
}

#[tokio::test]
async fn a_body_without_messages_and_an_unknown_path_are_named() {
    let gateway = TestGateway::start("").await;
    for (path, body, status, words) in [
        (
            "/v1/chat/completions",
            r#"{"model":"demo/text"}"#,
            400,
            "`messages` is missing",
        ),
        (
            "/v1/messages",
            r#"{"model":"demo/text","max_tokens":9,"messages":[]}"#,
            400,
            "`messages` is missing",
        ),
        (
            "/v1beta/models/demo/text:generateContent",
            "{}",
            400,
            "`contents` is missing",
        ),
        (
            "/v1/chat/v1/messages",
            "{}",
            404,
            "no such path: /v1/chat/v1/messages",
        ),
    ] {
        let reply = gateway.post(path, body).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        assert!(reply.text().contains(words), "{path}: {}", reply.text());
    }
}

#[tokio::test]
async fn the_small_paths_of_each_dialect_are_served() {
    let gateway = TestGateway::start("").await;
    let counted = gateway
        .post(
            "/v1/responses/input_tokens",
            r#"{"model":"demo/text","input":"hello there"}"#,
        )
        .await;
    assert_eq!(counted.status, 200, "{}", counted.text());
    assert!(
        counted
            .text()
            .contains(r#""object":"response.input_tokens""#)
    );
    let running = gateway.get("/api/ps").await;
    assert_eq!(running.text(), r#"{"models":[]}"#);
    let shown = gateway
        .post("/api/show", r#"{"model":"","name":"demo/text"}"#)
        .await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    let page = gateway.get("/v1beta/models?pageSize=1").await;
    assert!(page.text().contains("nextPageToken"), "{}", page.text());
    let chat =
        r#"{"model":"demo/text","stream":false,"messages":[{"role":"user","content":"hi"}]}"#;
    let answer = gateway.post("/api/chat", chat).await;
    assert!(
        !answer.text().contains(r#""total_duration":0"#),
        "{}",
        answer.text()
    );
}
