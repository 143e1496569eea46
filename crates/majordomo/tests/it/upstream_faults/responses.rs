//! Responses with status 200 that are unusable.

use std::time::Duration;

use majordomo::providers::ProviderKind;
use majordomo::transport::Timeouts;
use majordomo::{Class, Part, Request};
use majordomo_testkit::{Script, Upstream};

use super::harness::{
    After, DONE, FREE, FaultHarness, HELLO, Head, RETRIED, SERVED, SOON, UNUSABLE, chunk, config,
    events, json,
};

/// The outcome of a request to a head with this script.
async fn after(kind: ProviderKind, script: Script) -> After {
    let upstream = Upstream::start([script]).await;
    Head::at(upstream.uri("")).kind(kind).harness().send().await
}

/// The outcome of a streamed request to a head with this script.
async fn after_streaming(kind: ProviderKind, script: Script) -> After {
    let upstream = Upstream::start([script]).await;
    let harness = Head::at(upstream.uri("")).kind(kind).harness();
    harness.send_streaming().await
}

#[tokio::test]
async fn an_error_inside_a_200_response_is_classified_by_its_body() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    let rows = [
        (
            ProviderKind::OpenAi,
            r#"{"error":{"message":"upstream broke","code":502}}"#,
            RETRIED,
        ),
        (ProviderKind::Anthropic, overloaded, RETRIED),
        (
            ProviderKind::OllamaCloud,
            r#"{"error":"it broke"}"#,
            RETRIED,
        ),
        (
            ProviderKind::OpenAi,
            r#"{"error":{"message":"no such model","code":"model_not_found"}}"#,
            After {
                class: Some(Class::ModelNotFound),
                ..FREE
            },
        ),
    ];
    for (kind, body, expected) in rows {
        assert_eq!(after(kind, json(200, body)).await, expected, "{body}");
    }
}

#[tokio::test]
async fn a_stream_that_starts_with_an_error_is_classified_by_its_body() {
    let rows = [
        (
            ProviderKind::OpenAi,
            "data: {\"error\":{\"message\":\"broke\",\"code\":502}}\n\n",
        ),
        (
            ProviderKind::OpenAiResponses,
            "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"broke\"}\n\n",
        ),
        (
            ProviderKind::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n",
        ),
        (
            ProviderKind::Google,
            "data: {\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}\n\n",
        ),
        (ProviderKind::OllamaCloud, "{\"error\":\"it broke\"}\n"),
    ];
    for (kind, body) in rows {
        assert_eq!(after_streaming(kind, events(body)).await, RETRIED, "{body}");
    }
}

#[tokio::test]
async fn an_html_page_instead_of_a_response_is_a_bad_response() {
    let page = "<!doctype html><title>Welcome to the hotel</title>";
    let html = Script::new().read_request().respond(200, "text/html", page);
    assert_eq!(after(ProviderKind::OpenAi, html.clone()).await, UNUSABLE);
    assert_eq!(after_streaming(ProviderKind::OpenAi, html).await, UNUSABLE);
}

#[tokio::test]
async fn a_response_is_decoded_by_content_whatever_its_content_type() {
    let bare = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{HELLO}",
        HELLO.len()
    );
    let rows = [
        Script::new().read_request().send(bare),
        Script::new()
            .read_request()
            .respond(200, "application/octet-stream", HELLO),
        json(200, format!("\u{feff}{HELLO}")),
    ];
    for script in rows {
        assert_eq!(
            after(ProviderKind::OpenAi, script.clone()).await,
            SERVED,
            "{script:?}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_not_utf_8_is_a_bad_response() {
    let wide: Vec<u8> = HELLO.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let broken = HELLO.replace("hello", "\u{1}").into_bytes();
    let broken: Vec<u8> = broken
        .iter()
        .map(|b| if *b == 1 { 0xff } else { *b })
        .collect();
    for body in [wide, broken] {
        let script = Script::new().read_request();
        let script = script.respond(200, "application/json", body);
        assert_eq!(after(ProviderKind::OpenAi, script).await, UNUSABLE);
    }
}

/// A valid response with this JSON as its text.
fn with_content(content: &str) -> String {
    HELLO.replace("\"hello\"", content)
}

#[tokio::test]
async fn malformed_json_is_a_bad_response() {
    let rows = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        HELLO[..HELLO.len() - 1].to_owned(),
        format!("{HELLO}{HELLO}"),
        format!("{HELLO} and more"),
        with_content("NaN"),
        with_content("\"a\u{0}b\""),
        "[".repeat(100_000),
        r#"{"id":"c1","object":"chat.completion","model":"m"}"#.to_owned(),
        r#"{"id":"c1","choices":null}"#.to_owned(),
    ];
    for body in rows {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(
            after(ProviderKind::OpenAi, json(200, body)).await,
            UNUSABLE,
            "{shown}"
        );
    }
}

#[tokio::test]
async fn an_empty_response_counts_like_a_bad_response() {
    let silent = After {
        class: Some(Class::Empty),
        ..UNUSABLE
    };
    for body in [with_content("null"), with_content("\"\"")] {
        assert_eq!(
            after(ProviderKind::OpenAi, json(200, body.clone())).await,
            silent,
            "{body}"
        );
    }
    let no_choice = after(
        ProviderKind::OpenAi,
        json(200, r#"{"id":"c1","choices":[]}"#),
    )
    .await;
    assert_eq!((no_choice.calls, no_choice.failures), (1, 1));
    assert_eq!(no_choice.served_by, "tail/m");
}

#[tokio::test]
async fn an_unusual_but_decodable_response_is_served() {
    for body in [
        HELLO.replace("\"completion_tokens\":2", "\"completion_tokens\":1e400"),
        HELLO.replace("\"object\"", "\"id\":\"c2\",\"object\""),
        with_content(r#""\ud800 lone""#),
    ] {
        assert_eq!(
            after(ProviderKind::OpenAi, json(200, body.clone())).await,
            SERVED,
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_error_never_echoes_a_long_body() {
    let junk = format!("{{\"nonsense\": {}", "x".repeat(100_000));
    for (status, body) in [(200, junk.clone()), (500, junk.clone()), (400, junk)] {
        let (_upstream, harness) = FaultHarness::playing([json(status, body)]).await;
        let alone = harness.chain("head/m").generate(Request::user("hi")).await;
        let text = alone.unwrap_err().to_string();
        assert!(text.len() < 2_000, "{status}: {} bytes", text.len());
    }
}

#[tokio::test]
async fn an_endless_sse_line_is_cut_off_and_the_connection_closed() {
    let script = Script::new().read_request().stream_head();
    let block = vec![b'x'; 1 << 20];
    let script = script
        .send(format!("{:x}\r\ndata: ", 1u64 << 40))
        .flood(block);
    let upstream = Upstream::start([script]).await;
    let harness = Head::at(upstream.uri("")).harness();
    assert_eq!(harness.send_streaming().await, UNUSABLE);
    upstream.closed(0, SOON).await;
    // Our limit of 4 MiB, plus the kernel's buffers in both directions.
    let sent = upstream.connections()[0].bytes_sent;
    assert!(sent < 24 << 20, "{sent} bytes of the flood were taken");
}

#[tokio::test]
async fn a_20_mb_image_in_one_sse_event_is_served() {
    let picture = "iVBORw0KGgo+".repeat((20 << 20) / 12);
    let event = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{{\"inlineData\":{{\"mimeType\":\"image/png\",\"data\":\"{picture}\"}}}}]}},\"finishReason\":\"STOP\"}}]}}\r\n\r\n"
    );
    let upstream = Upstream::start([events(event)]).await;
    let harness = Head::at(upstream.uri(""))
        .kind(ProviderKind::Google)
        .harness();
    let reply = harness.open().await.unwrap().finish().await.unwrap();
    let [Part::Image(image)] = &reply.parts[..] else {
        panic!("no picture among {} parts", reply.parts.len());
    };
    assert_eq!(image.data.len(), picture.len() / 4 * 3);
}

#[tokio::test]
async fn many_blank_lines_comments_and_data_lines_do_not_break_a_stream() {
    let lines = format!("data: {{\n{}data: }}\n\n", "data:\n".repeat(10_000));
    let noise = format!(
        "{}{}{lines}",
        "\n".repeat(1_000_000),
        ": still here\n".repeat(100_000)
    );
    let body = format!("{noise}{}{noise}{DONE}", chunk(r#"{"content":"hello"}"#));
    let (_upstream, harness) = FaultHarness::playing([events(body)]).await;
    let reply = harness.open().await.unwrap().finish().await.unwrap();
    assert_eq!((&*reply.text(), &*reply.model), ("hello", "head/m"));
}

#[tokio::test]
async fn a_stream_decodes_the_same_for_any_chunking_and_line_ending() {
    let plain = format!(
        "{}{}{DONE}",
        chunk(r#"{"content":"hé"}"#),
        chunk(r#"{"content":"llo"}"#)
    );
    let noisy = format!(
        ": hello\n\nretry: 10\nid: 7\nevent: message\n{}",
        "\n".repeat(10_000)
    );
    let bodies = [
        plain.clone(),
        plain.replace('\n', "\r\n"),
        plain.replace("data: ", "data:"),
        format!("{noisy}{plain}"),
        format!("\u{feff}{plain}"),
    ];
    for body in bodies {
        let script = Script::new().read_request().stream_head();
        let pieces = body
            .as_bytes()
            .chunks(if body.len() > 5_000 { 777 } else { 1 });
        let script = pieces.fold(script, Script::chunk).last_chunk();
        let (_upstream, harness) = FaultHarness::playing([script]).await;
        let reply = harness.open().await.unwrap().finish().await.unwrap();
        assert_eq!(
            (reply.text(), &*reply.model),
            ("héllo".to_owned(), "head/m")
        );
    }
}

/// The SSE standard allows a lone CR; no provider sends it, and we do not decode it.
#[tokio::test]
async fn a_stream_with_lone_cr_line_endings_fails_over() {
    let body = format!("{}{DONE}", chunk(r#"{"content":"hello"}"#)).replace('\n', "\r");
    let after = after_streaming(ProviderKind::OpenAi, events(body)).await;
    assert_eq!(after, UNUSABLE);
}

#[tokio::test]
async fn an_endless_flood_of_sse_comments_times_out() {
    let comment = "12\r\n: still thinking.\n\r\n";
    let script = Script::new().read_request().stream_head().flood(comment);
    let upstream = Upstream::start([script]).await;
    let timeouts = Timeouts::default().with_first_event(Duration::from_millis(200));
    let harness = Head::at(upstream.uri("")).timeouts(timeouts).harness();
    assert_eq!(harness.send_streaming().await, RETRIED);
    upstream.closed(1, SOON).await;
}

#[tokio::test]
async fn an_unrequested_content_encoding_is_a_bad_response() {
    for coding in ["gzip", "br", "zstd"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: {coding}\r\ncontent-length: 4\r\n\r\nabcd"
        );
        let script = Script::new().read_request().send(head);
        assert_eq!(
            after(ProviderKind::OpenAi, script).await,
            UNUSABLE,
            "{coding}"
        );
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_off_and_the_connection_closed() {
    let block = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let script = Script::new().read_request().stream_head().flood(block);
    let upstream = Upstream::start([script]).await;
    let config = config().max_response_bytes(1 << 20);
    let harness = Head::at(upstream.uri("")).config(config).harness();
    assert_eq!(harness.send().await, UNUSABLE);
    upstream.closed(0, SOON).await;
}

/// The cost of a chunk is benchmarked in the wire crate; here, a quadratic decoder would not
/// reach the end.
#[tokio::test]
async fn a_stream_of_100_000_small_chunks_is_read_to_its_end() {
    const CHUNKS: usize = 100_000;
    let piece = chunk(&format!(r#"{{"content":"{}"}}"#, "word ".repeat(20)));
    let script = Script::new().read_request().stream_head();
    let script = script.chunk(piece.repeat(CHUNKS)).chunk(DONE).last_chunk();
    let (_upstream, harness) = FaultHarness::playing([script]).await;
    let reply = harness.open().await.unwrap().finish().await.unwrap();
    assert_eq!(
        (reply.text().len(), &*reply.model),
        (CHUNKS * 100, "head/m")
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Upstream::start([json(200, HELLO)]).await;
    for status in [301, 302, 303, 307, 308] {
        let head = format!(
            "HTTP/1.1 {status} Away\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
            elsewhere.uri("/v1")
        );
        let script = Script::new().read_request().send(head);
        assert_eq!(
            after(ProviderKind::OpenAi, script).await,
            UNUSABLE,
            "{status}"
        );
    }
    assert!(elsewhere.connections().is_empty(), "no key was sent");
}

#[tokio::test]
async fn a_204_304_or_101_status_is_a_bad_response() {
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ] {
        let script = Script::new().read_request().send(head);
        assert_eq!(
            after(ProviderKind::OpenAi, script).await,
            UNUSABLE,
            "{head}"
        );
    }
}

#[tokio::test]
async fn endless_interim_responses_are_a_bad_response() {
    let script = Script::new().read_request();
    let script = script.flood("HTTP/1.1 103 Early Hints\r\n\r\n");
    let (upstream, harness) = FaultHarness::playing([script]).await;
    assert_eq!(harness.send().await, UNUSABLE);
    upstream.closed(0, SOON).await;
}

#[tokio::test]
async fn a_body_with_a_wrong_content_length_is_a_bad_response() {
    let half = &HELLO[..40];
    let rows = [
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{half}",
            HELLO.len()
        ),
        format!("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{HELLO}"),
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n28\r\n{half}\r\n"),
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{half}"),
    ];
    for response in rows {
        let script = Script::new().read_request().send(response.clone());
        assert_eq!(
            after(ProviderKind::OpenAi, script).await,
            UNUSABLE,
            "{response}"
        );
    }
}

#[tokio::test]
async fn bytes_after_a_response_do_not_leak_into_the_next_one() {
    let script = json(200, HELLO).send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    let (upstream, harness) = FaultHarness::playing([script]).await;
    for _ in 0..5 {
        assert_eq!(harness.send().await, SERVED);
    }
    assert_eq!(upstream.requests().len(), 5);
}
