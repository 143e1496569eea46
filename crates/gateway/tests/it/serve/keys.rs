//! Client keys and body limits.

use bytes::Bytes;
use majordomo::{Part, Request, Response};
use majordomo_testkit::Upstream;
use majordomo_wire::Protocol;

use crate::serve::responses::error_of;
use crate::serve::test_gateway::{Headers, TestGateway};
use crate::serve::wires;

const KEYS: &str = r#"
[[keys]]
name = "laptop"
key = "canary-laptop"
[[keys]]
name = "guest"
key = "canary-guest"
models = ["demo/text"]
"#;

/// A request of each dialect for a model.
fn request_for(client: Protocol, model: &str) -> (String, String) {
    let request = Request::user("hi").max_tokens(99);
    let body = wires::request_for(client, &request, model, false);
    let body = String::from_utf8(body.to_vec()).expect("JSON is text");
    (wires::path(client, model, false), body)
}

#[tokio::test]
async fn a_key_is_accepted_wherever_a_dialect_puts_it() {
    let gateway = TestGateway::start(KEYS).await;
    for client in Protocol::ALL {
        let (path, body) = request_for(client, "demo/text");
        for header in [
            ("authorization", "Bearer canary-laptop"),
            ("authorization", "bearer canary-guest"),
            ("x-api-key", "canary-laptop"),
            ("x-goog-api-key", "canary-guest"),
        ] {
            let reply = gateway.request(&path, &[header], &body).await;
            assert_eq!(reply.status, 200, "{client:?} {header:?}");
        }
        let path = format!("{path}?key=canary%2Dlaptop");
        let reply = gateway.request(&path, &[], &body).await;
        assert_eq!(reply.status, 200, "{client:?}");
        // Two equal credentials count as one.
        let reply = gateway.request(&path, &[("x-api-key", "canary-laptop")], &body);
        assert_eq!(reply.await.status, 200, "{client:?}");
    }
}

#[tokio::test]
async fn a_missing_wrong_or_ambiguous_key_is_refused_in_the_dialects_format() {
    let gateway = TestGateway::start(KEYS).await;
    let laptop = ("x-api-key", "canary-laptop");
    let rows: [(Headers<'_>, u16, &str); 4] = [
        (&[], 401, "a key is required"),
        (&[("x-api-key", "canary-guess")], 401, "the key is unknown"),
        (
            &[("authorization", "Basic canary-laptop")],
            401,
            "a key is required",
        ),
        (
            &[laptop, ("authorization", "Bearer canary-guest")],
            400,
            "two different keys",
        ),
    ];
    for client in Protocol::ALL {
        for (headers, status, text) in rows {
            let (path, body) = request_for(client, "demo/text");
            let reply = gateway.request(&path, headers, &body).await;
            let output = reply.text();
            assert_eq!(reply.status, status, "{client:?} {headers:?}: {output}");
            let error = error_of(client, &reply);
            assert!(error.message().contains(text), "{client:?}: {output}");
            assert!(!output.contains("canary"), "{client:?}: {output}");
            let word = match (client, status) {
                (Protocol::Ollama, _) => r#"{"error":""#,
                (Protocol::Gemini, 401) => "UNAUTHENTICATED",
                (Protocol::Gemini, _) => "INVALID_ARGUMENT",
                (_, 401) => "authentication_error",
                (_, _) => "invalid_request_error",
            };
            assert!(output.contains(word), "{client:?}: {output}");
        }
    }
}

#[tokio::test]
async fn a_restricted_key_uses_and_lists_only_its_models() {
    let gateway = TestGateway::start(KEYS).await;
    let guest = ("x-api-key", "canary-guest");
    for client in Protocol::ALL {
        for model in ["demo/vision", "demo/text,demo/vision"] {
            let (path, body) = request_for(client, model);
            let reply = gateway.request(&path, &[guest], &body).await;
            assert_eq!(reply.status, 403, "{client:?}: {}", reply.text());
            let error = error_of(client, &reply);
            assert!(error.message().contains("`guest`"), "{client:?}: {error}");
            let text = reply.text();
            assert!(text.contains("it allows `demo/text`"), "{client:?}: {text}");
            // Clients take these for a wrong key and ask the user for another one.
            for wrong_key in ["invalid_api_key", "API_KEY_INVALID", "authentication_error"] {
                assert!(!text.contains(wrong_key), "{client:?}: {text}");
            }
            let word = match client {
                Protocol::Ollama => r#"{"error":""#,
                Protocol::Gemini => "PERMISSION_DENIED",
                Protocol::Messages => "permission_error",
                Protocol::Chat | Protocol::Responses => r#""code":"model_not_found""#,
            };
            assert!(text.contains(word), "{client:?}: {text}");
        }
    }
    let list = gateway.request("/v1/models", &[guest], "").await;
    let models = Protocol::Chat.codec().read_models(&list.body).unwrap();
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["demo/text"]);
    let reply = gateway
        .request("/v1/models/demo/vision", &[guest], "")
        .await;
    assert_eq!(reply.status, 403, "{}", reply.text());
}

#[tokio::test]
async fn a_client_key_is_not_forwarded() {
    let response = Response::new(vec![Part::text("Hello.")]);
    for client in Protocol::ALL {
        let upstream = Upstream::start([wires::answering(client, &response, false)]).await;
        let provider = wires::provider("up", client, upstream.address());
        let gateway = TestGateway::start(&format!("{KEYS}{provider}")).await;
        let (path, body) = request_for(client, "up/m0");
        let path = format!("{path}?key=canary-laptop");
        let headers = [("authorization", "Bearer canary-laptop")];
        let reply = gateway.request(&path, &headers, &body).await;
        assert_eq!(reply.status, 200, "{client:?}: {}", reply.text());
        let head = upstream.requests()[0].head.clone();
        assert!(!head.contains("canary-laptop"), "{client:?}: {head}");
        assert!(head.contains("canary-of-up"), "{client:?}: {head}");
    }
}

#[tokio::test]
async fn an_oversized_or_malformed_body_is_rejected() {
    let gateway = TestGateway::start("[server]\nmax_body = \"1KiB\"\n").await;
    for client in Protocol::ALL {
        let (path, body) = request_for(client, "demo/text");
        let at_most = gateway.post(&path, body.clone()).await;
        assert_eq!(at_most.status, 200, "{client:?}: {}", at_most.text());
        for size in [2_000, 3_000_000] {
            let large = Bytes::from(vec![b' '; size]);
            let reply = gateway.post(&path, large).await;
            assert_eq!(reply.status, 413, "{client:?}: {}", reply.text());
            let error = error_of(client, &reply);
            assert!(
                error.message().contains("`max_body`"),
                "{client:?}: {error}"
            );
        }
        let zipped = [("content-encoding", "gzip")];
        let reply = gateway.request(&path, &zipped, &body).await;
        assert_eq!(reply.status, 415, "{client:?}: {}", reply.text());
        let reply = gateway.post(&path, "{\"model\":").await;
        assert_eq!(reply.status, 400, "{client:?}: {}", reply.text());
        error_of(client, &reply);
        if client != Protocol::Gemini {
            let nameless = body.replace("demo/text", "");
            let reply = gateway.post(&path, nameless).await;
            assert_eq!(reply.status, 400, "{client:?}: {}", reply.text());
            assert!(reply.text().contains("names no model"), "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn an_expired_key_is_refused_by_name() {
    let gateway = TestGateway::start(
        "[[keys]]\nname = \"old\"\nkey = \"canary-canary-canary-old\"\nexpires = \"2020-01-31\"\n\
         [[keys]]\nname = \"new\"\nkey = \"canary-canary-canary-new\"\nexpires = \"9999-01-31\"\n",
    )
    .await;
    let (path, body) = request_for(Protocol::Chat, "demo/text");
    let old = ("x-api-key", "canary-canary-canary-old");
    let reply = gateway.request(&path, &[old], &body).await;
    assert_eq!(reply.status, 401, "{}", reply.text());
    assert!(
        reply.text().contains("`old` has expired"),
        "{}",
        reply.text()
    );
    let new = ("x-api-key", "canary-canary-canary-new");
    let reply = gateway.request(&path, &[new], &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}
