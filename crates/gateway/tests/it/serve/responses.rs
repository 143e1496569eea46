//! Response headers and statuses: which target served, or why none did.

use majordomo::{Class, Error, Event, Part, Request, Response};
use majordomo_testkit::{ClosedPort, Script, Upstream};
use majordomo_wire::{FailedResponse, Protocol};

use crate::serve::test_gateway::{TestGateway, TestResponse};
use crate::serve::wires;

pub(crate) async fn send_request(
    gateway: &TestGateway,
    client: Protocol,
    model: &str,
    stream: bool,
) -> TestResponse {
    let body = wires::request_for(client, &Request::user("hi"), model, stream);
    gateway
        .post(&wires::path(client, model, stream), body)
        .await
}

/// The error as a client of this dialect decodes it.
pub(crate) fn error_of(client: Protocol, reply: &TestResponse) -> Error {
    let header = |name: &str| reply.header(name);
    client.codec().read_error(&FailedResponse {
        status: reply.status.as_u16(),
        header: &header,
        body: &reply.body,
        now: std::time::SystemTime::UNIX_EPOCH,
    })
}

pub(crate) fn refusing(status: u16, headers: &str, body: &str) -> Script {
    let length = body.len();
    let reply = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    Script::new().read_request().send(reply).times(50)
}

#[tokio::test]
async fn headers_report_the_request_id_target_attempts_and_changes() {
    let response = Response::new(vec![Part::text("Hello.")]);
    let upstream = Upstream::start([wires::answering(Protocol::Messages, &response, false)]).await;
    let closed = ClosedPort::hold();
    let config = [
        wires::provider("closed", Protocol::Chat, closed.address()),
        wires::provider("up", Protocol::Messages, upstream.address()),
    ];
    let gateway = TestGateway::start(&config.concat()).await;
    let body =
        r#"{"model":"closed/m0,up/m1","seed":7,"messages":[{"role":"user","content":"hi"}]}"#;
    let reply = gateway.post("/v1/chat/completions", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let id = reply.header("x-majordomo-request-id").expect("an id");
    assert!(id.len() >= 16, "{id}");
    assert_eq!(reply.header("x-majordomo-target"), Some("up/m1"));
    assert_eq!(reply.header("x-majordomo-attempts"), Some("3"));
    assert_eq!(
        reply.header("x-majordomo-changes"),
        Some("max_tokens set, seed dropped")
    );
    let again = gateway.post("/v1/chat/completions", body).await;
    assert_ne!(again.header("x-majordomo-request-id"), Some(id));
}

#[tokio::test]
async fn an_exhausted_chain_has_the_most_actionable_status() {
    let not_found = r#"{"error":{"message":"no such model","code":"model_not_found"}}"#;
    let too_long = r#"{"error":{"message":"too many tokens","code":"context_length_exceeded"}}"#;
    let unsupported = r#"{"error":{"message":"no tools","code":"unsupported_parameter"}}"#;
    let slow_down = r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#;
    let rows = [
        (
            "404",
            refusing(404, "", not_found),
            404,
            Class::ModelNotFound,
        ),
        (
            "long",
            refusing(400, "", too_long),
            400,
            Class::ContextLength,
        ),
        (
            "unable",
            refusing(400, "", unsupported),
            400,
            Class::Unsupported,
        ),
        (
            "limit",
            refusing(429, "retry-after: 17\r\n", slow_down),
            429,
            Class::RateLimited,
        ),
        ("down", refusing(500, "", "{}"), 502, Class::Transient),
    ];
    let mut config = String::new();
    let mut upstreams = Vec::new();
    for (name, script, ..) in &rows {
        for copy in ["a", "b"] {
            let upstream = Upstream::start([script.clone()]).await;
            let name = format!("{copy}{name}");
            config.push_str(&wires::provider(&name, Protocol::Chat, upstream.address()));
            upstreams.push(upstream);
        }
    }
    let gateway = TestGateway::start(&config).await;
    for (name, _, status, class) in &rows {
        for (number, client) in Protocol::ALL.into_iter().enumerate() {
            for stream in [false, true] {
                let model = 2 * number + usize::from(stream);
                let model = format!("a{name}/m{model},b{name}/m{model}");
                let reply = send_request(&gateway, client, &model, stream).await;
                let what = format!("{client:?} asks {model}: {}", reply.text());
                if client == Protocol::Responses && stream && *class == Class::ContextLength {
                    // See `recovery`.
                    continue;
                }
                assert_eq!(reply.status, *status, "{what}");
                // A rate limit and a failing server may recover.
                let pointless = (*status < 429).then_some("false");
                assert_eq!(reply.header("x-should-retry"), pointless, "{what}");
                let waits = (*status == 429).then_some("17");
                assert_eq!(reply.header("retry-after"), waits, "{what}");
                let error = error_of(client, &reply);
                for target in model.split(',') {
                    assert!(error.message().contains(target), "{what}");
                }
                // Ollama has no error codes, only messages.
                if client != Protocol::Ollama && client != Protocol::Gemini {
                    assert_eq!(error.class(), *class, "{what}");
                }
            }
        }
    }
}

/// Also those that the balancer leaves out, because they are benched.
#[tokio::test]
async fn an_exhausted_chain_names_every_service_with_its_reason() {
    let down = || refusing(500, "", "{}");
    let upstream = Upstream::start([down()]).await;
    let mut config = wires::provider("up", Protocol::Chat, upstream.address());
    for balance in ["tier", "round_robin"] {
        config.push_str(&format!(
            "[[routes]]\nmodel = \"{balance}\"\nbalance = \"{balance}\"\n\
             services = [ {{ spec = \"up/{balance}1\" }}, {{ spec = \"up/{balance}2,up/{balance}3\" }} ]\n"
        ));
    }
    let gateway = TestGateway::start(&config).await;
    for balance in ["tier", "round_robin"] {
        let body =
            format!(r#"{{"model":"{balance}","messages":[{{"role":"user","content":"hi"}}]}}"#);
        // The second time, all of them are benched.
        for reason in ["", "benched"] {
            let reply = gateway.post("/v1/chat/completions", body.clone()).await;
            assert_eq!(reply.status, 502, "{}", reply.text());
            let error = reply.json()["error"]["message"].to_string();
            for target in 1..=3 {
                let named = format!("up/{balance}{target}: ");
                let of_target = error.split(&named).nth(1).unwrap_or_default();
                assert!(of_target.contains(reason), "{named} not in {error}");
                assert!(!of_target.is_empty(), "{named} not in {error}");
            }
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn an_unknown_model_is_a_404_that_suggests_the_nearest() {
    let gateway = TestGateway::start("[aliases]\nthinking = \"demo/text\"\n").await;
    for client in Protocol::ALL {
        for stream in [false, true] {
            let reply = send_request(&gateway, client, "thinkng", stream).await;
            let error = error_of(client, &reply);
            assert_eq!(reply.status, 404, "{client:?}: {}", reply.text());
            let text = error.message();
            assert!(text.contains("`thinkng`"), "{client:?}: {text}");
            assert!(
                text.contains("did you mean `thinking`?"),
                "{client:?}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn a_benched_target_that_may_not_be_tried_is_a_503() {
    let closed = ClosedPort::hold();
    let config = wires::provider("up", Protocol::Chat, closed.address());
    let gateway = TestGateway::start(&format!("[chain]\nall_benched = \"fail\"\n{config}")).await;
    let first = send_request(&gateway, Protocol::Chat, "up/m0", false).await;
    assert_eq!(first.status, 502, "{}", first.text());
    let second = send_request(&gateway, Protocol::Chat, "up/m0", false).await;
    assert_eq!(second.status, 503, "{}", second.text());
    assert_eq!(second.header("x-should-retry"), None);
    assert!(second.header("retry-after").is_some());
    let error = error_of(Protocol::Chat, &second);
    let begins = error
        .message()
        .starts_with("no target could serve the request: up/m0");
    assert!(begins, "{error}");
}

#[tokio::test]
async fn a_rejected_upstream_key_is_not_a_client_error() {
    let upstream = Upstream::start([refusing(401, "", "{}")]).await;
    let config = wires::provider("up", Protocol::Chat, upstream.address());
    let gateway = TestGateway::start(&config).await;
    let first = send_request(&gateway, Protocol::Chat, "up/m0", false).await;
    assert_eq!(first.status, 502, "{}", first.text());
    // The key is benched and not sent again.
    let second = send_request(&gateway, Protocol::Chat, "up/m0", false).await;
    assert_eq!(second.status, 503, "{}", second.text());
    assert_eq!(upstream.requests().len(), 1);
    assert!(!first.text().contains("canary"), "{}", first.text());
}

#[tokio::test]
async fn a_name_from_a_providers_list_needs_no_configuration() {
    let list = r#"{"data":[{"type":"model","id":"claude-opus-5-5","display_name":"x","created_at":"2026-01-01T00:00:00Z"}],"has_more":false,"first_id":"claude-opus-5-5","last_id":"claude-opus-5-5"}"#;
    let response = Response::new(vec![Part::text("Hello.")]);
    let whole = wires::whole(Protocol::Messages, &response);
    // Every request after the model list gets this response.
    let answering = |script: Script| {
        (0..4).fold(script, |script, _| {
            let script = script.read_request();
            script.respond(200, "application/json", whole.clone())
        })
    };
    let listing = Script::new().read_request();
    let listing = listing.respond(200, "application/json", list);
    let upstream = Upstream::start([answering(listing), answering(Script::new())]).await;
    let config = wires::provider("claude", Protocol::Messages, upstream.address());
    let gateway = TestGateway::start(&config).await;
    let request = Request::user("hi").max_tokens(9);
    let body = wires::request_for(Protocol::Messages, &request, "claude-opus-5-5", false);
    let reply = gateway.post("/v1/messages?beta=true", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let target = reply.header("x-majordomo-target");
    assert_eq!(target, Some("claude/claude-opus-5-5"));
    let requests = upstream.requests();
    let mut received = requests.iter().map(|request| &request.head);
    assert!(received.any(|head| head.starts_with("POST /v1/messages ")));
}

#[tokio::test]
async fn a_gemini_stream_without_sse_is_one_json_array() {
    let words = ["One, ", "two."];
    let mut events = vec![Event::Start {
        id: None,
        model: None,
    }];
    events.extend(words.map(|word| Event::Text(word.into())));
    let mut complete = events.clone();
    complete.push(Event::Finish(majordomo::FinishReason::Stop));
    for protocol in [Protocol::Gemini, Protocol::Chat] {
        for (events, ends) in [(&complete, true), (&events, false)] {
            let body = wires::streamed(protocol, events);
            let script = Script::new().read_request().stream_head().chunk(&body);
            let upstream = Upstream::start([script.last_chunk()]).await;
            let gateway =
                TestGateway::start(&wires::provider("up", protocol, upstream.address())).await;
            let body = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#;
            let path = "/v1beta/models/up%2Fm0:streamGenerateContent";
            let reply = gateway.post(path, body).await;
            let output = reply.text();
            assert_eq!(reply.status, 200, "{output}");
            assert_eq!(reply.header("content-type"), Some("application/json"));
            assert_eq!(reply.cut, !ends, "{output}");
            // A truncated array is unterminated and carries the error.
            let closed = if ends {
                output.to_owned()
            } else {
                format!("{output}]")
            };
            let elements: Vec<serde_json::Value> = serde_json::from_str(&closed).expect(output);
            let text = |it: &serde_json::Value| {
                let text = &it["candidates"][0]["content"]["parts"][0]["text"];
                text.as_str().unwrap_or_default().to_owned()
            };
            let texts: String = elements.iter().map(text).collect();
            assert_eq!(texts, "One, two.", "{output}");
            let last = elements.last().expect("an element");
            assert_eq!(last["error"].is_object(), !ends, "{output}");
        }
    }
}
