//! Heartbeats keep a stream alive that is slow to start.

use bytes::Bytes;
use majordomo::{ErrorKind, Part, Request, Response};
use majordomo_wire::Protocol;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::serve::stage::Stage;
use crate::serve::wires;

/// A provider that accepts a connection and sends this on demand.
async fn patient(said: Bytes) -> (std::net::SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let address = listener.local_addr().expect("an address");
    let (go, told) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _ = told.await;
        // No other target can take over.
        drop(listener);
        stream.write_all(&said).await.expect("a reader");
        let _ = stream.shutdown().await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    (address, go)
}

/// The body of a chunked response, as far as it was sent.
fn unchunked(mut answer: &[u8]) -> Bytes {
    let mut body = Vec::new();
    let after = |bytes: &[u8], end: &[u8]| {
        let at = bytes.windows(end.len()).position(|it| it == end)?;
        Some(at + end.len())
    };
    answer = &answer[after(answer, b"\r\n\r\n").expect("a head")..];
    while let Some(line) = after(answer, b"\r\n") {
        let size = std::str::from_utf8(&answer[..line]).expect("a size");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        body.extend_from_slice(&answer[line..line + size]);
        answer = &answer[line + size + 2..];
    }
    body.into()
}

/// Waits for a heartbeat, lets the provider respond, and reads the rest.
async fn kept(client: Protocol, said: Bytes) -> (String, Bytes) {
    let (address, go) = patient(said).await;
    let provider = wires::provider("up", client, address);
    let config = format!("[server]\nkeepalive = \"1s\"\n[chain]\nretries = 0\n{provider}");
    let stage = Stage::start(&config).await;
    let body = wires::question(client, &Request::user("hi"), "up/m0", true);
    let path = wires::path(client, "up/m0", true);
    let mut connection = stage.begin(&path, &body).await;
    let mut answer = vec![0; 4_096];
    let mut so_far = 0;
    // Ollama has no heartbeat, but its head is sent early as well.
    let sign = match client {
        Protocol::Messages => "event: ping\n",
        Protocol::Ollama => "\r\n\r\n",
        _ => ": ",
    };
    let has_body = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        text.contains("\r\n\r\n") && (client == Protocol::Ollama || body.contains(sign))
    };
    while !has_body(&answer[..so_far]) {
        let read = connection.read(&mut answer[so_far..]).await;
        let read = read.expect("a connection");
        assert_ne!(read, 0, "{client:?}: it ended without a sign of life");
        so_far += read;
    }
    answer.truncate(so_far);
    go.send(()).expect("the provider waits");
    // A complete response keeps the connection open; an interrupted one closes it.
    while !answer.ends_with(b"\r\n0\r\n\r\n") {
        match connection.read_buf(&mut answer).await {
            Ok(1..) => {}
            _ => break,
        }
    }
    let head = String::from_utf8_lossy(&answer);
    let head = head.split_once("\r\n\r\n").expect("a head").0.to_owned();
    (head, unchunked(&answer))
}

#[tokio::test]
async fn a_silent_stream_gets_heartbeats_and_then_its_response() {
    let response = Response::new(vec![Part::text("Hello.")]);
    for client in Protocol::ALL {
        let answer = wires::streamed(client, &response.to_events());
        let kind = wires::stream_type(client);
        let length = answer.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
        let said = [head.as_bytes(), &answer].concat();
        let (head, body) = kept(client, said.into()).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{client:?}: {head}");
        // Target and attempts are unknown when the head is sent.
        assert!(!head.contains("x-majordomo-target"), "{client:?}: {head}");
        assert!(!head.contains("x-majordomo-attempts"), "{client:?}: {head}");
        assert!(
            head.contains("x-majordomo-request-id"),
            "{client:?}: {head}"
        );
        let understood = wires::understood(client, &body, true);
        assert_eq!(
            understood.expect("an answer").text(),
            "Hello.",
            "{client:?}"
        );
        assert!(body.ends_with(&answer), "{client:?}");
    }
}

#[tokio::test]
async fn a_silent_stream_that_fails_ends_with_the_dialects_error() {
    for client in Protocol::ALL {
        let (head, body) = kept(client, Bytes::from_static(b"no HTTP\r\n\r\n")).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{client:?}: {head}");
        let error = wires::understood(client, &body, true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Provider, "{client:?}: {error}");
        assert!(error.message().contains("up/m0"), "{client:?}: {error}");
    }
}
