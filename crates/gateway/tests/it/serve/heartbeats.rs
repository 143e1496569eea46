//! Heartbeats keep a stream alive that is slow to start.

use bytes::Bytes;
use majordomo::{ErrorKind, Part, Request, Response};
use majordomo_wire::Protocol;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::serve::test_gateway::TestGateway;
use crate::serve::wires;

/// A provider that accepts a connection and sends this on demand.
async fn patient(output: Bytes) -> (std::net::SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let address = listener.local_addr().expect("an address");
    let (go, reported) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let _ = reported.await;
        // No other target can take over.
        drop(listener);
        stream.write_all(&output).await.expect("a reader");
        let _ = stream.shutdown().await;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    (address, go)
}

/// The body of a chunked response, up to the part sent so far.
fn unchunked(mut reply: &[u8]) -> Bytes {
    let mut body = Vec::new();
    let after = |bytes: &[u8], end: &[u8]| {
        let at = bytes.windows(end.len()).position(|it| it == end)?;
        Some(at + end.len())
    };
    reply = &reply[after(reply, b"\r\n\r\n").expect("a head")..];
    while let Some(line) = after(reply, b"\r\n") {
        let size = std::str::from_utf8(&reply[..line]).expect("a size");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        body.extend_from_slice(&reply[line..line + size]);
        reply = &reply[line + size + 2..];
    }
    body.into()
}

/// Waits for a heartbeat, lets the provider respond, and reads to the end.
async fn kept(client: Protocol, output: Bytes) -> (String, Bytes) {
    let (address, go) = patient(output).await;
    let provider = wires::provider("up", client, address);
    let config = format!("[server]\nkeepalive = \"1s\"\n[chain]\nretries = 0\n{provider}");
    let gateway = TestGateway::start(&config).await;
    let body = wires::request_for(client, &Request::user("hi"), "up/m0", true);
    let path = wires::path(client, "up/m0", true);
    let mut connection = gateway.begin(&path, &body).await;
    let mut reply = vec![0; 4_096];
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
    while !has_body(&reply[..so_far]) {
        let read = connection.read(&mut reply[so_far..]).await;
        let read = read.expect("a connection");
        assert_ne!(read, 0, "{client:?}: it ended without a sign of life");
        so_far += read;
    }
    reply.truncate(so_far);
    go.send(()).expect("the provider waits");
    // A complete response keeps the connection open; an interrupted one closes it.
    while !reply.ends_with(b"\r\n0\r\n\r\n") {
        match connection.read_buf(&mut reply).await {
            Ok(1..) => {}
            _ => break,
        }
    }
    let head = String::from_utf8_lossy(&reply);
    let head = head.split_once("\r\n\r\n").expect("a head").0.to_owned();
    (head, unchunked(&reply))
}

#[tokio::test]
async fn a_silent_stream_gets_heartbeats_and_then_its_response() {
    let response = Response::new(vec![Part::text("Hello.")]);
    for client in Protocol::ALL {
        let reply = wires::streamed(client, &response.to_events());
        let kind = wires::stream_type(client);
        let length = reply.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
        let output = [head.as_bytes(), &reply].concat();
        let (head, body) = kept(client, output.into()).await;
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
        assert!(body.ends_with(&reply), "{client:?}");
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
