//! No key appears in a response, log line or metric.

use majordomo_testkit::{Script, Upstream};

use crate::test_gateway::{
    CLIENT_KEY, TestGateway, UPSTREAM_KEY, case, chat_request, header, lines_of, logged, post,
    provider, statuses,
};

const WRONG_KEY: &str = "CANARY-wrong-key";

fn request_for(text: &str) -> String {
    let body = format!(r#"{{"model":"up/m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    post("/v1/chat/completions", "connection: close\r\n", &body)
}

fn keys() -> String {
    format!("[[keys]]\nname = \"laptop\"\nkey = \"{CLIENT_KEY}\"\n")
}

/// What the log and the operator's listener show, down to the page of each request.
async fn shown(gateway: &TestGateway) -> Vec<String> {
    let look = async |path: String| {
        let page = gateway.get_operator(&path).await;
        assert_eq!(statuses(&page), [200], "{path}: {page}");
        page
    };
    let mut shown = vec![logged()];
    for path in ["/", "/metrics", "/api/health", "/targets", "/usage"] {
        shown.push(look(path.to_owned()).await);
    }
    let requests = look("/api/requests".to_owned()).await;
    let ids: Vec<&str> = requests.split("\"id\":\"").skip(1).collect();
    assert!(!ids.is_empty(), "the requests are recorded: {requests}");
    for rest in ids {
        let id = rest.split('"').next().expect("an id");
        shown.push(look(format!("/requests/{id}")).await);
        shown.push(look(format!("/api/requests/{id}")).await);
    }
    shown.push(requests);
    shown
}

#[test]
fn keys_are_read_from_every_place_a_dialect_uses() {
    case(async {
        let gateway = TestGateway::start(&keys()).await;
        let rows: [(&str, String, u16); 10] = [
            ("", String::new(), 401),
            ("", format!("authorization: Bearer {CLIENT_KEY}\r\n"), 200),
            ("", format!("authorization: bearer {CLIENT_KEY}\r\n"), 200),
            ("", format!("authorization: Basic {CLIENT_KEY}\r\n"), 401),
            ("", format!("authorization: {CLIENT_KEY}\r\n"), 401),
            ("", format!("x-api-key: {CLIENT_KEY}\r\n"), 200),
            ("", format!("x-goog-api-key: {CLIENT_KEY}\r\n"), 200),
            ("?key=CANARY-client-key", String::new(), 200),
            ("?key=CANARY-wrong-key", String::new(), 401),
            (
                "",
                format!("x-api-key: {WRONG_KEY}\r\nauthorization: Bearer {CLIENT_KEY}\r\n"),
                400,
            ),
        ];
        for (query, header, status) in rows {
            let head = format!(
                "GET /v1/models{query} HTTP/1.1\r\nhost: localhost\r\n{header}connection: close\r\n\r\n"
            );
            let response = gateway.raw(head).await;
            assert_eq!(statuses(&response), [status], "{query}{header}: {response}");
            assert!(!response.contains("CANARY"), "{response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn no_key_appears_in_a_response_log_line_or_metric() {
    case(async {
        // Upstreams that echo the key.
        let repeats = format!(r#"{{"error":{{"message":"bad key {UPSTREAM_KEY}"}}}}"#);
        let scripts = [
            Script::new()
                .read_request()
                .respond(400, "application/json", repeats.clone()),
            Script::new()
                .read_request()
                .respond(500, "application/json", repeats.clone()),
            Script::new()
                .read_request()
                .respond(401, "application/json", repeats),
        ];
        let upstream = Upstream::start(scripts).await;
        let gateway = TestGateway::start(&(keys() + &provider(&upstream))).await;
        let wrong = format!("x-api-key: {WRONG_KEY}\r\nconnection: close\r\n");
        let mut seen = Vec::new();
        for request in [
            chat_request("up/a", false),
            chat_request("up/b", true),
            chat_request("up/c", false),
            chat_request("demo/text", true),
            post("/v1/messages", &wrong, "{}"),
            post(
                "/v1beta/models/x:generateContent?key=CANARY-wrong-key",
                "connection: close\r\n",
                "{}",
            ),
        ] {
            seen.push(gateway.raw(request).await);
        }
        seen.extend(shown(&gateway).await);
        for text in seen {
            let line = text.lines().find(|line| line.contains("CANARY"));
            assert_eq!(line, None, "in\n{text}");
        }
        assert!(
            upstream.requests()[0].head.contains(UPSTREAM_KEY),
            "it was used"
        );
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn neither_one_of_several_keys_nor_a_clients_own_credential_appears_anywhere() {
    let own = "CANARY-own-subscription";
    let repeats = |status| {
        let echo = format!(r#"{{"error":{{"message":"no {UPSTREAM_KEY} or {UPSTREAM_KEY}-2"}}}}"#);
        Script::new()
            .read_request()
            .respond(status, "application/json", echo)
    };
    case(async {
        let upstream = Upstream::start([
            repeats(401),
            repeats(429),
            repeats(500),
            repeats(401),
            repeats(403),
            repeats(429),
            repeats(400),
        ])
        .await;
        let config = keys()
            + &provider(&upstream)
                .replace(
                    "api_key = ",
                    "client_credentials = \"forward\"\napi_keys = [",
                )
                .replace("-key\"\n", &format!("-key\", \"{UPSTREAM_KEY}-2\"]\n"));
        let gateway = TestGateway::start(&config).await;
        let mut seen = Vec::new();
        for model in ["up/a", "up/b", "up/c"] {
            seen.push(gateway.raw(chat_request(model, false)).await);
        }
        let beside = format!(
            "x-majordomo-key: {CLIENT_KEY}\r\nauthorization: Bearer {own}\r\nchatgpt-account-id: CANARY-account\r\nconnection: close\r\n"
        );
        for stream in [false, true] {
            let body = format!(
                r#"{{"model":"up/m","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
            );
            for _ in 0..2 {
                seen.push(
                    gateway
                        .raw(post("/v1/chat/completions", &beside, &body))
                        .await,
                );
            }
        }
        seen.extend(shown(&gateway).await);
        for text in seen {
            let line = text.lines().find(|line| line.contains("CANARY"));
            assert_eq!(line, None, "in\n{text}");
        }
        let heads: String = upstream
            .requests()
            .iter()
            .map(|it| it.head.clone())
            .collect();
        let second = format!("{UPSTREAM_KEY}-2");
        for secret in [UPSTREAM_KEY, &second, own, "CANARY-account"] {
            assert!(heads.contains(secret), "{secret} was used");
        }
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_clients_own_credential_that_its_vendor_repeats_is_seen_by_no_one() {
    let own = "CANARY-own-subscription";
    let repeated = format!(
        r#"{{"error":{{"message":"{own} of CANARY-account is not valid","type":"{own}"}}}}"#
    );
    let stream = format!("data: {repeated}\n\n");
    let refusals = [400, 401, 402, 403, 429, 500, 503, 529].map(|status| {
        Script::new()
            .read_request()
            .respond(status, "application/json", repeated.clone())
            .times(3)
    });
    case(async {
        for script in refusals.into_iter().chain([Script::new()
            .read_request()
            .stream_head()
            .chunk(stream.clone())])
        {
            let upstream = Upstream::start([script]).await;
            let forward = provider(&upstream)
                .replace("api_key = ", "client_credentials = \"forward\"\napi_key = ");
            let gateway = TestGateway::start(&(keys() + &forward)).await;
            let beside = format!(
                "x-majordomo-key: {CLIENT_KEY}\r\nauthorization: Bearer {own}\r\nchatgpt-account-id: CANARY-account\r\nconnection: close\r\n"
            );
            let body =
                r#"{"model":"up/m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
            let mut seen = vec![
                gateway
                    .raw(post("/v1/chat/completions", &beside, body))
                    .await,
            ];
            seen.extend(shown(&gateway).await);
            for text in seen {
                let line = text.lines().find(|line| line.contains("CANARY"));
                assert_eq!(line, None, "in\n{text}");
            }
            assert!(upstream.requests()[0].head.contains(own), "it was used");
            gateway.assert_invariants(upstream).await;
        }
    });
}

#[test]
fn the_prompt_of_an_image_reaches_its_model_and_nothing_else() {
    const PROMPT: &str = "MARKER-of-an-image-prompt";
    case(async {
        let repeats = format!(r#"{{"error":{{"message":"I cannot draw {PROMPT}"}}}}"#);
        let drawn = format!(
            r#"{{"created":1,"data":[{{"b64_json":"iVBORw0KGgo=","revised_prompt":"{PROMPT}"}}]}}"#
        );
        let upstream = Upstream::start([
            Script::new()
                .read_request()
                .respond(200, "application/json", drawn),
            Script::new()
                .read_request()
                .respond(400, "application/json", repeats),
        ])
        .await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let body = format!(r#"{{"model":"up/m","prompt":"{PROMPT}","n":1}}"#);
        for status in [200, 400] {
            let image = post("/v1/images/generations", "connection: close\r\n", &body);
            let response = gateway.raw(image).await;
            assert_eq!(statuses(&response), [status], "{response}");
        }
        for text in shown(&gateway).await {
            assert!(!text.contains(PROMPT), "in\n{text}");
        }
        let sent = String::from_utf8_lossy(&upstream.requests()[0].body).into_owned();
        assert!(sent.contains(PROMPT), "it was used");
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_prompt_echoed_by_an_upstream_is_not_logged() {
    case(async {
        let repeats = r#"{"error":{"message":"I do not understand MARKER-of-a-prompt"}}"#;
        let refuse = Script::new().read_request();
        let upstream = Upstream::start([refuse.respond(400, "application/json", repeats)]).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let response = gateway.raw(request_for("MARKER-of-a-prompt")).await;
        assert!(response.contains("MARKER-of-a-prompt"), "{response}");
        let id = header(&response, "x-majordomo-request-id").expect("it has an id");
        let lines = lines_of(id);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("up/m: "), "{lines:?}");
        assert!(!logged().contains("MARKER-of-a-prompt"));
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn wrong_keys_get_identical_responses_and_lock_no_one_out() {
    case(async {
        let gateway = TestGateway::start(&keys()).await;
        let without_id = |response: String| {
            let lines = response.lines().map(str::to_owned);
            let same =
                lines.filter(|line| !line.contains("request-id") && !line.starts_with("date"));
            same.collect::<Vec<_>>()
        };
        let headers = |key: &str| format!("x-api-key: {key}\r\nconnection: close\r\n");
        let first = gateway
            .raw(post("/v1/responses", &headers("a"), "{}"))
            .await;
        let first = without_id(first);
        for n in 0..100 {
            let key = "x".repeat(n + 1);
            let response = gateway
                .raw(post("/v1/responses", &headers(&key), "{}"))
                .await;
            assert_eq!(without_id(response), first);
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn an_address_that_guesses_keys_is_throttled_but_valid_keys_still_work() {
    case(async {
        let gateway = TestGateway::start(&keys()).await;
        let guess = format!(
            "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-api-key: {WRONG_KEY}\r\nconnection: close\r\n\r\n"
        );
        let guessing = async {
            loop {
                let response = gateway.raw(&guess).await;
                match statuses(&response)[..] {
                    [401] => {}
                    [429] => return response,
                    _ => panic!("{response}"),
                }
            }
        };
        let slowed = tokio::time::timeout(crate::test_gateway::TEST_TIMEOUT, guessing).await;
        let slowed = slowed.expect("it is slowed down");
        assert_eq!(header(&slowed, "retry-after"), Some("1"), "{slowed}");
        // The check after every case uses the right key from the same address.
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn no_upstream_failure_reveals_a_key() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let read = || Script::new().read_request();
    for script in [
        Script::new(),
        read().reset(),
        read().send(format!("{head}content-length: 99\r\n\r\n{{")),
        read().respond(200, "application/json", format!("{{\"a\":\"{UPSTREAM_KEY}")),
        read().respond(200, "text/html", format!("<p>{UPSTREAM_KEY}</p>")),
        read().respond(302, "text/plain", UPSTREAM_KEY),
        read().respond(
            429,
            "application/json",
            format!("{{\"error\":\"{UPSTREAM_KEY}\"}}"),
        ),
        read().stream_head().chunk(format!(
            "data: {{\"error\":{{\"message\":\"{UPSTREAM_KEY}\"}}}}\n\n"
        )),
        read()
            .stream_head()
            .chunk(crate::test_gateway::EVENT)
            .chunk(format!(
                "data: {{\"error\":{{\"message\":\"{UPSTREAM_KEY}\"}}}}\n\n"
            )),
        read().stream_head().chunk(crate::test_gateway::EVENT),
    ] {
        case(async {
            let upstream = Upstream::start([script]).await;
            let gateway = TestGateway::start(&(keys() + &provider(&upstream))).await;
            for stream in [false, true] {
                let response = gateway.raw(chat_request("up/m", stream)).await;
                assert!(!response.is_empty());
            }
            // The check after every case searches all output.
            gateway.assert_invariants(upstream).await;
        });
    }
}
