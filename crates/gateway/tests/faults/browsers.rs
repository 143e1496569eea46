//! Browser pages on the same machine, as opposed to native clients.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::test_gateway::{CLIENT_KEY, TestGateway, case, chat_request, header, statuses};

pub(crate) const CHAT_BODY: &str =
    r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;

pub(crate) fn keyed(more: &str) -> String {
    format!("{more}[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n")
}

pub(crate) fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Paths of each dialect and of none, with and without a body.
const PATHS: [(&str, &str); 10] = [
    ("GET /v1/models", ""),
    ("GET /v1/models/demo/text", ""),
    ("GET /api/tags", ""),
    ("GET /api/version", ""),
    ("GET /", ""),
    ("GET /nowhere", ""),
    ("PUT /v1/models", ""),
    ("POST /v1/chat/completions", CHAT_BODY),
    ("POST /v1/messages", CHAT_BODY),
    ("POST /ollama/api/chat", CHAT_BODY),
];

#[test]
fn dns_rebinding_against_a_keyless_gateway_is_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        let port = gateway.address.port();
        for (line, body) in PATHS {
            for host in [
                "evil.example".to_owned(),
                format!("evil.example:{port}"),
                format!("127.0.0.1.evil.example:{port}"),
                format!("localhost.evil.example:{port}"),
                format!("localhost.:{port}"),
                format!("127.0.0.1:{port}@evil.example"),
                format!("2130706433:{port}"),
                format!("0x7f000001:{port}"),
                format!("0.0.0.0:{port}"),
                format!("[::2]:{port}"),
            ] {
                let response = gateway
                    .raw(request(line, &format!("host: {host}\r\n"), body))
                    .await;
                assert_eq!(statuses(&response), [403], "{line} {host}: {response}");
                assert!(response.contains("names of this machine"), "{response}");
                assert!(!response.contains("demo/"), "{line} {host}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn every_loopback_name_is_served_without_a_key() {
    case(async {
        let gateway = TestGateway::start("").await;
        let port = gateway.address.port();
        for host in [
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
            format!("LOCALHOST:{port}"),
            format!("majordomo.localhost:{port}"),
            "localhost:8080".to_owned(),
            "127.1.2.3".to_owned(),
        ] {
            for (line, body) in [
                ("GET /v1/models", ""),
                ("POST /v1/chat/completions", CHAT_BODY),
            ] {
                // What `curl -d` sends.
                let headers =
                    format!("host: {host}\r\ncontent-type: application/x-www-form-urlencoded\r\n");
                let response = gateway.raw(request(line, &headers, body)).await;
                assert_eq!(statuses(&response), [200], "{line} {host}: {response}");
                assert_eq!(header(&response, "vary"), None, "{response}");
            }
        }
        let whole = format!("GET http://localhost:{port}/v1/models");
        let response = gateway
            .raw(request(&whole, &format!("host: localhost:{port}\r\n"), ""))
            .await;
        assert_eq!(statuses(&response), [200], "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn an_absolute_form_uri_is_checked_by_its_host() {
    case(async {
        let gateway = TestGateway::start("").await;
        for (named, host, status) in [
            ("evil.example", "evil.example", 403),
            ("localhost@evil.example", "localhost@evil.example", 403),
            ("evil.example", "localhost", 400),
            ("localhost", "evil.example", 400),
        ] {
            let line = format!("GET http://{named}/v1/models");
            let response = gateway
                .raw(request(&line, &format!("host: {host}\r\n"), ""))
                .await;
            assert_eq!(statuses(&response), [status], "{named} {host}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn over_http2_the_authority_is_checked_as_the_host() {
    case(async {
        let gateway = TestGateway::start("").await;
        let stream = TcpStream::connect(gateway.address)
            .await
            .expect("it listens");
        let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (mut sender, connection) = made.expect("it speaks HTTP/2");
        let connection = tokio::spawn(connection);
        for (authority, origin, status) in [
            ("localhost:4100", None, 200),
            ("[::1]:4100", None, 200),
            ("evil.example:4100", None, 403),
            ("localhost:4100", Some("https://evil.example"), 403),
            ("localhost:4100", Some("http://localhost:4100"), 200),
        ] {
            let received = Request::get(format!("http://{authority}/v1/models"));
            let received = match origin {
                Some(origin) => received.header("origin", origin),
                None => received,
            };
            let received = received.body(Full::<Bytes>::default()).expect("a request");
            let response = sender.send_request(received).await.expect("it responds");
            assert_eq!(response.status(), status, "{authority} {origin:?}");
            let _ = response.into_body().collect().await.expect("it is whole");
        }
        gateway.assert_invariants((sender, connection)).await;
    });
}

#[test]
fn a_page_of_another_site_may_not_use_a_keyless_gateway() {
    case(async {
        let gateway = TestGateway::start("").await;
        for from in [
            "origin: https://evil.example\r\n",
            "origin: https://evil.example\r\nsec-fetch-site: cross-site\r\n",
            // A form or a fetch that needs no preflight.
            "origin: https://evil.example\r\ncontent-type: text/plain\r\n",
            "origin: null\r\n",
            "origin: http://localhost:3000\r\nsec-fetch-site: same-site\r\n",
            "origin: http://localhost\r\n",
            "origin: chrome-extension://abcdef\r\n",
            "origin: http://localhost:4100\r\norigin: https://evil.example\r\n",
            "sec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors\r\nsec-fetch-dest: image\r\n",
            "sec-fetch-site: same-site\r\n",
        ] {
            for (line, body) in PATHS {
                let headers = format!("host: localhost:4100\r\n{from}");
                let response = gateway.raw(request(line, &headers, body)).await;
                assert_eq!(statuses(&response), [403], "{line} {from}: {response}");
                assert!(response.contains("`[server] origins`"), "{response}");
                let lower = response.to_lowercase();
                assert!(!lower.contains("access-control-"), "{response}");
                assert!(!response.contains("demo/"), "{line} {from}: {response}");
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_page_is_refused_in_its_clients_dialect() {
    case(async {
        let gateway = TestGateway::start("").await;
        let from = "host: localhost\r\norigin: https://evil.example\r\n";
        for (path, place) in [
            ("/v1/chat/completions", "/error/message"),
            ("/v1/responses", "/error/message"),
            ("/v1/messages", "/error/message"),
            ("/v1beta/models/demo/text:generateContent", "/error/message"),
            ("/api/chat", "/error"),
        ] {
            let response = gateway
                .raw(request(&format!("POST {path}"), from, CHAT_BODY))
                .await;
            assert_eq!(statuses(&response), [403], "{response}");
            let body = response.split("\r\n\r\n").nth(1).unwrap_or_default();
            let body: Value = serde_json::from_str(body).expect("JSON");
            let reported = body.pointer(place).and_then(Value::as_str);
            let reported = reported.unwrap_or_else(|| panic!("{path}: {body}"));
            assert!(
                reported.contains("`[server] origins`"),
                "{path}: {reported}"
            );
            assert!(
                reported.contains("`https://evil.example`"),
                "{path}: {reported}"
            );
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn the_body_of_a_refused_request_is_not_awaited() {
    case(async {
        let gateway = TestGateway::start("").await;
        let mut client = gateway.connect().await;
        client
            .send("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\norigin: null\r\ncontent-length: 9999999\r\n\r\n{")
            .await;
        let response = client.until("\r\n\r\n").await;
        assert_eq!(statuses(&response), [403], "{response}");
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn same_origin_pages_and_desktop_apps_are_served() {
    case(async {
        let gateway = TestGateway::start("").await;
        let port = gateway.address.port();
        for from in [
            format!("origin: http://localhost:{port}\r\nsec-fetch-site: same-origin\r\n"),
            "sec-fetch-site: none\r\nsec-fetch-mode: navigate\r\n".to_owned(),
            "sec-fetch-mode: cors\r\n".to_owned(),
            "origin: vscode-webview://1f2e3d\r\nsec-fetch-site: cross-site\r\n".to_owned(),
            "origin: app://obsidian.md\r\nsec-fetch-site: cross-site\r\n".to_owned(),
            "origin: tauri://localhost\r\n".to_owned(),
            "origin: file://\r\n".to_owned(),
        ] {
            let headers = format!("host: localhost:{port}\r\n{from}");
            let sent = request("POST /v1/chat/completions", &headers, CHAT_BODY);
            let response = gateway.raw(sent).await;
            assert_eq!(statuses(&response), [200], "{from}: {response}");
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn with_keys_any_host_is_served_and_a_page_needs_the_key() {
    case(async {
        let gateway = TestGateway::start(&keyed("")).await;
        for (key, status) in [(CLIENT_KEY, 200), ("wrong", 401)] {
            for from in [
                "host: gateway.example\r\n",
                "host: gateway.example\r\norigin: https://gateway.example\r\n",
                "host: gateway.example\r\norigin: https://other.example\r\nsec-fetch-site: cross-site\r\n",
            ] {
                let headers = format!("{from}authorization: Bearer {key}\r\n");
                let response = gateway.raw(request("GET /v1/models", &headers, "")).await;
                assert_eq!(statuses(&response), [status], "{from}: {response}");
                assert!(
                    !response.to_lowercase().contains("access-control-"),
                    "{response}"
                );
            }
        }
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn health_checks_respond_under_any_host_and_reveal_nothing_else() {
    case(async {
        let gateway = TestGateway::start("").await;
        for path in ["/healthz", "/readyz"] {
            let headers = "host: probe.example\r\norigin: https://evil.example\r\n";
            let response = gateway
                .raw(request(&format!("GET {path}"), headers, ""))
                .await;
            assert_eq!(statuses(&response), [200], "{response}");
            assert!(response.ends_with("\r\n\r\nok\n"), "{response}");
            assert!(
                !response.to_lowercase().contains("access-control-"),
                "{response}"
            );
        }
        gateway.assert_invariants(()).await;
    });
}

/// Recorded request heads of real clients.
#[test]
fn no_recorded_client_is_mistaken_for_a_page() {
    let Some(folder) = majordomo_testkit::data("MAJORDOMO_CLIENT_REQUESTS") else {
        return;
    };
    let folders = std::fs::read_dir(folder).expect("a folder");
    let folders = folders.filter_map(|entry| std::fs::read_dir(entry.ok()?.path()).ok());
    let captures: Vec<Value> = folders
        .flatten()
        .filter_map(|file| std::fs::read(file.ok()?.path()).ok())
        .filter_map(|text| serde_json::from_slice(&text).ok())
        .collect();
    assert!(captures.len() > 100, "{}", captures.len());
    case(async {
        let gateway = TestGateway::start("").await;
        for capture in &captures {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let own = [
                "content-length",
                "transfer-encoding",
                "connection",
                "content-encoding",
            ];
            let lines = capture["headers"].as_array().into_iter().flatten();
            let headers: String = lines
                .map(|pair| (text(&pair[0]), text(&pair[1])))
                .filter(|(name, _)| !own.contains(&name.to_lowercase().as_str()))
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let line = format!("{} {}", text(&capture["method"]), text(&capture["path"]));
            // Without a body no target is called; the boundary check comes first.
            let response = gateway.raw(request(&line, &headers, "")).await;
            let [status] = statuses(&response)[..] else {
                panic!("{line}: {response}");
            };
            assert_ne!(status, 403, "{line} {headers}: {response}");
        }
        let response = gateway.raw(chat_request("demo/text", true)).await;
        assert_eq!(statuses(&response), [200], "{response}");
        gateway.assert_invariants(()).await;
    });
}
