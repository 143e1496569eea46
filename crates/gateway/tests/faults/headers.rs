//! Headers, keys and addresses that must not cross the gateway.

use majordomo_testkit::{Script, Upstream};

use crate::test_gateway::{
    CLIENT_KEY, EVENT, PROMPT, TestGateway, UPSTREAM_KEY, case, header, post, provider, statuses,
};

const WHOLE: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

fn chat_request(headers: &str, more: &str, stream: bool) -> String {
    let body = format!(
        r#"{{"model":"up/m","stream":{stream},"messages":[{{"role":"user","content":"{PROMPT}"}}]{more}}}"#
    );
    let headers = format!("connection: close\r\n{headers}");
    post("/v1/chat/completions", &headers, &body)
}

#[test]
fn an_upstream_key_echoed_by_the_upstream_is_redacted() {
    for status in [400, 401, 403, 404, 429, 500, 503] {
        case(async {
            let head = format!(
                "HTTP/1.1 {status} {UPSTREAM_KEY}\r\nx-request-id: {UPSTREAM_KEY}\r\n\
                 www-authenticate: Bearer {UPSTREAM_KEY}\r\ncontent-type: application/json\r\n"
            );
            let body = format!(
                r#"{{"error":{{"message":"no {UPSTREAM_KEY} is known","code":"{UPSTREAM_KEY}","type":"{UPSTREAM_KEY}","param":"{UPSTREAM_KEY}"}}}}"#
            );
            let length = body.len();
            let script = Script::new()
                .read_request()
                .send(format!("{head}content-length: {length}\r\n\r\n{body}"));
            let upstream = Upstream::start([script]).await;
            let gateway = TestGateway::start(&provider(&upstream)).await;
            for stream in [false, true] {
                let response = gateway.raw(chat_request("", "", stream)).await;
                assert!(!response.starts_with("HTTP/1.1 200"), "{response}");
            }
            // The check after every case searches for the key.
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn upstream_response_headers_are_not_forwarded() {
    let stream = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
    let done = EVENT.replace("\"finish_reason\":null", "\"finish_reason\":\"stop\"");
    let end = format!("{done}data: [DONE]\n\n");
    let chunked = format!("{stream}{:x}\r\n{end}\r\n0\r\n\r\n", end.len());
    let whole = format!(
        "content-type: application/json\r\ncontent-length: {}\r\n\r\n{WHOLE}",
        WHOLE.len()
    );
    let streamed =
        format!("content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{chunked}");
    for (is_stream, rest) in [(false, whole), (true, streamed)] {
        case(async {
            let head = "HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nserver: secret/1\r\n\
                        x-request-id: theirs\r\nx-powered-by: x\r\naccess-control-allow-origin: *\r\n\
                        location: http://elsewhere/\r\nconnection: x-hop\r\nx-hop: y\r\n";
            let script = Script::new().read_request().send(format!("{head}{rest}"));
            let upstream = Upstream::start([script]).await;
            let gateway = TestGateway::start(&provider(&upstream)).await;
            let response = gateway.raw(chat_request("", "", is_stream)).await;
            assert!(response.starts_with("HTTP/1.1 200"), "{response}");
            assert!(response.contains("word"), "{response}");
            for name in [
                "set-cookie",
                "server",
                "x-request-id",
                "x-powered-by",
                "access-control-allow-origin",
                "location",
                "x-hop",
            ] {
                assert_eq!(header(&response, name), None, "{response}");
            }
            gateway.assert_invariants(upstream).await;
        });
    }
}

#[test]
fn client_request_headers_are_not_forwarded() {
    case(async {
        let script = Script::new()
            .read_request()
            .respond(200, "application/json", WHOLE);
        let upstream = Upstream::start([script]).await;
        let allowed = "[server]\norigins = [\"http://x\"]\n";
        let gateway = TestGateway::start(&format!("{allowed}{}", provider(&upstream))).await;
        let sent = format!(
            "x-forwarded-for: 1.2.3.4\r\nx-forwarded-host: elsewhere\r\nforwarded: for=1.2.3.4\r\n\
             cookie: a=b\r\nauthorization: Bearer {CLIENT_KEY}\r\nproxy-authorization: x\r\n\
             openai-organization: org\r\nreferer: http://x/\r\norigin: http://x\r\n\
             x-hop: secret\r\nte: trailers\r\nx-custom: y\r\n"
        );
        let response = gateway.raw(chat_request(&sent, "", false)).await;
        assert_eq!(statuses(&response), [200], "{response}");
        let received = upstream.requests();
        let head = received[0].head.to_lowercase();
        assert!(head.contains(&UPSTREAM_KEY.to_lowercase()), "{head}");
        assert!(!head.contains(&CLIENT_KEY.to_lowercase()), "{head}");
        for name in [
            "x-forwarded",
            "forwarded",
            "cookie",
            "proxy-",
            "openai-organization",
            "referer",
            "origin",
            "x-hop",
            "\r\nte:",
            "x-custom",
            "1.2.3.4",
        ] {
            assert!(!head.contains(name), "{name}: {head}");
        }
        gateway.assert_invariants(upstream).await;
    });
}

#[test]
fn a_request_cannot_choose_its_upstream_address() {
    case(async {
        let script = Script::new()
            .read_request()
            .respond(200, "application/json", WHOLE);
        let upstream = Upstream::start([script]).await;
        let elsewhere = Upstream::start([Script::new()]).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let address = elsewhere.address();
        let headers = format!(
            "x-base-url: http://{address}\r\nopenai-base-url: http://{address}\r\n\
             x-portkey-custom-host: http://{address}\r\nhelicone-target-url: http://{address}\r\n"
        );
        let fields = format!(
            r#","base_url":"http://{address}","api_base":"http://{address}","endpoint":"http://{address}","extra_headers":{{"host":"{address}"}}"#
        );
        let response = gateway.raw(chat_request(&headers, &fields, false)).await;
        assert!(statuses(&response)[0] < 500, "{response}");
        for model in [
            format!("http://{address}/m"),
            format!("openai+http://x@{address}/m"),
            format!("up/http://{address}/m"),
        ] {
            let body =
                format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]}}"#);
            gateway
                .raw(post("/v1/chat/completions", "connection: close\r\n", &body))
                .await;
        }
        assert!(elsewhere.connections().is_empty());
        gateway.assert_invariants((upstream, elsewhere)).await;
    });
}
