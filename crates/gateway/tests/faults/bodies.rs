//! Bodies that are JSON but not a valid request.

use majordomo_testkit::{Script, Upstream};

use crate::test_gateway::{CLIENT_KEY, PROMPT, TestGateway, case, post, provider, statuses};

const FRONTS: [&str; 5] = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1beta/models/demo/text:generateContent",
    "/api/chat",
];

/// A valid request for each front, without its closing brace.
fn begun(path: &str) -> String {
    let message = r#"[{"role":"user","content":"hi"}]"#;
    match path {
        "/v1/responses" => r#"{"model":"demo/text","input":"hi""#.to_owned(),
        "/v1/messages" => {
            format!(r#"{{"model":"demo/text","max_tokens":9,"messages":{message}"#)
        }
        "/v1beta/models/demo/text:generateContent" => {
            r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]"#.to_owned()
        }
        _ => format!(r#"{{"model":"demo/text","stream":false,"messages":{message}"#),
    }
}

async fn status(gateway: &TestGateway, path: &str, body: &[u8]) -> (u16, String) {
    let mut client = gateway.connect().await;
    let headers = format!("connection: close\r\nauthorization: Bearer {CLIENT_KEY}\r\n");
    let head = post(path, &headers, "").replace(
        "content-length: 0",
        &format!("content-length: {}", body.len()),
    );
    client.send([head.as_bytes(), body].concat()).await;
    let response = client.rest().await;
    let found = statuses(&response);
    assert_eq!(found.len(), 1, "{path}: {response}");
    (found[0], response)
}

#[test]
fn deeply_nested_json_is_rejected_in_every_dialect() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in FRONTS {
            for depth in [129, 100_000, 2_000_000] {
                let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
                let body = format!("{},\"metadata\":{nested}}}", begun(path));
                let (found, response) = status(&gateway, path, body.as_bytes()).await;
                assert_eq!(found, 400, "{path} {depth}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn wide_or_long_json_is_processed_in_linear_time() {
    case(async {
        let gateway = TestGateway::start("").await;
        let keys: String = (0..1_000_000).map(|n| format!("\"k{n}\":1,")).collect();
        let digits = "9".repeat(1_000_000);
        let string = "x".repeat(20 << 20);
        for path in FRONTS {
            let begun = begun(path);
            for extra in [
                format!("\"metadata\":{{{}}}", keys.trim_end_matches(',')),
                format!("\"user\":\"{string}\""),
                format!("\"max_tokens\":{digits}"),
                format!("\"temperature\":{digits}"),
            ] {
                let body = format!("{begun},{extra}}}");
                let (found, response) = status(&gateway, path, body.as_bytes()).await;
                assert!(found == 200 || found == 400, "{path}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_duplicate_inspected_field_is_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in FRONTS {
            let twice = match path {
                "/v1/responses" => r#""model":"demo/vision""#,
                "/v1beta/models/demo/text:generateContent" => r#""contents":[]"#,
                _ => r#""messages":[]"#,
            };
            for field in [twice, r#""model":"demo/vision","model":"demo/text""#] {
                let body = format!("{},{field}}}", begun(path));
                let (found, response) = status(&gateway, path, body.as_bytes()).await;
                assert_eq!(found, 400, "{path} {field}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn invalid_utf8_nul_and_bom_are_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in FRONTS {
            let good = begun(path).replace("\"hi\"", "\"HERE\"") + "}";
            for bad in [&b"\xff\xfe"[..], b"\xc3", b"\xed\xa0\x80", b"\x00"] {
                let at = good.find("HERE").expect("it is there");
                let body = [&good.as_bytes()[..at], bad, &good.as_bytes()[at + 4..]].concat();
                let (found, response) = status(&gateway, path, &body).await;
                assert_eq!(found, 400, "{path} {bad:02x?}: {response}");
            }
            let (found, response) =
                status(&gateway, path, format!("\u{feff}{good}").as_bytes()).await;
            assert_eq!(found, 400, "{path} a byte order mark: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_lone_surrogate_is_served_because_javascript_truncates_that_way() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in FRONTS {
            let body = begun(path).replace("\"hi\"", r#""hi \ud83d""#) + "}";
            let (found, response) = status(&gateway, path, body.as_bytes()).await;
            assert_eq!(found, 200, "{path}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn unusual_but_valid_text_reaches_the_target_unchanged() {
    let odd = "\u{2028}\u{202e}עברית\u{200b}\u{1f468}\u{200d}\u{1f469}";
    for path in FRONTS {
        case(async {
            let refuse = Script::new()
                .read_request()
                .respond(400, "application/json", "{}");
            let upstream = Upstream::start([refuse]).await;
            let gateway = TestGateway::start(&provider(&upstream)).await;
            let body = begun(path).replace("\"hi\"", &format!("\"{odd}\"")) + "}";
            let body = body.replace("demo/text", "up/m");
            let path = path.replace("demo/text", "up/m");
            status(&gateway, &path, body.as_bytes()).await;
            let received = upstream.requests();
            let text = String::from_utf8_lossy(&received[0].body).into_owned();
            assert!(text.contains(odd), "{path}: {text}");
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn an_invalid_field_is_named_in_the_400() {
    case(async {
        let gateway = TestGateway::start("").await;
        let chat = "/v1/chat/completions";
        let chat_request = |more: &str| format!(r#"{{"model":"demo/text",{more}}}"#);
        let hi = r#""messages":[{"role":"user","content":"hi"}]"#;
        for (body, named) in [
            (chat_request(r#""messages":"hi""#), "messages"),
            (
                chat_request(r#""messages":[{"role":7,"content":"hi"}]"#),
                "role",
            ),
            (
                chat_request(&format!(r#"{hi},"max_tokens":-1"#)),
                "max_tokens",
            ),
            (
                chat_request(&format!(r#"{hi},"temperature":"NaN""#)),
                "temperature",
            ),
            (chat_request(&format!(r#"{hi},"tools":{{}}"#)), "tools"),
        ] {
            let (found, response) = status(&gateway, chat, body.as_bytes()).await;
            assert_eq!(found, 400, "{body}: {response}");
            assert!(response.contains(named), "{body}: {response}");
        }
        let unknown = format!(r#"{{"model":"nobody/x",{hi}}}"#);
        let (found, response) = status(&gateway, chat, unknown.as_bytes()).await;
        assert_eq!(found, 404, "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_valid_request_that_is_merely_large_is_served() {
    case(async {
        let gateway = TestGateway::start("").await;
        let message = r#"{"role":"user","content":"hi"},"#.repeat(10_000);
        let tool = |n| {
            format!(
                r#"{{"type":"function","function":{{"name":"t{n}","parameters":{{"type":"object"}}}}}},"#
            )
        };
        let tools: String = (0..1_001).map(tool).collect();
        for body in [
            format!(
                r#"{{"model":"demo/text","messages":[{}]}}"#,
                message.trim_end_matches(',')
            ),
            format!(
                r#"{{"model":"demo/text","messages":[{{"role":"user","content":"hi"}}],"tools":[{}]}}"#,
                tools.trim_end_matches(',')
            ),
        ] {
            let (found, response) = status(&gateway, "/v1/chat/completions", body.as_bytes()).await;
            assert_eq!(found, 200, "{response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn the_content_of_a_bad_request_is_returned_to_its_client_and_not_logged() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in FRONTS {
            // The value is of the wrong type, or an unknown name.
            for field in ["messages", "contents", "input", "role", "type"] {
                let body = format!(
                    r#"{{"model":"demo/text","{field}":"{PROMPT}","messages":[{{"role":"{PROMPT}"}}]}}"#
                );
                let (found, response) = status(&gateway, path, body.as_bytes()).await;
                assert!(found < 500, "{path} {field}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}
