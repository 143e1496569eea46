//! Rejections over HTTP/2 that are decided before the body has arrived.

use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use h2::client::{self, SendRequest};
use http::Request;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::test_gateway::{CLIENT_KEY, TEST_TIMEOUT, TestGateway, case};

fn keyed() -> String {
    format!("[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n")
}

/// A request whose body of three parts is still being sent when the gateway knows that it
/// rejects it. Returns the status and whether the stream was reset.
async fn rejected(
    sender: &mut SendRequest<Bytes>,
    ping: &mut h2::PingPong,
    request: Request<()>,
) -> (u16, bool) {
    let (response, mut body) = sender.send_request(request, false).expect("it is open");
    for part in 0..3 {
        // After the reply to a ping, the gateway has seen what was sent before it.
        let pong = timeout(TEST_TIMEOUT, ping.ping(h2::Ping::opaque())).await;
        pong.expect("in time").expect("it is open");
        tokio::task::yield_now().await;
        // A part that cannot be sent shows as a reset below.
        let _ = body.send_data(Bytes::from_static(b"{\"model\":"), part == 2);
    }
    let response = timeout(TEST_TIMEOUT, response).await.expect("in time");
    let response = response.expect("a rejection, not a broken stream");
    let status = response.status().as_u16();
    let mut data = response.into_body();
    while let Some(read) = timeout(TEST_TIMEOUT, data.data()).await.expect("in time") {
        read.expect("a whole rejection");
    }
    let pong = timeout(TEST_TIMEOUT, ping.ping(h2::Ping::opaque())).await;
    pong.expect("in time").expect("it is open");
    let reset = poll_fn(|cx| Poll::Ready(body.poll_reset(cx).is_ready())).await;
    (status, reset)
}

/// curl 7.88 reports a reset stream instead of the response that came before the reset.
#[test]
fn a_small_body_is_read_before_a_rejection_so_that_the_stream_is_not_reset() {
    case(async {
        let gateway = TestGateway::start(&keyed()).await;
        let stream = TcpStream::connect(gateway.address)
            .await
            .expect("it listens");
        let (mut sender, mut connection) = client::handshake(stream).await.expect("HTTP/2");
        let mut ping = connection.ping_pong().expect("once");
        let connection = tokio::spawn(connection);
        let request = |path: &str, header: (&str, &str)| {
            let uri = format!("http://localhost{path}");
            let request = Request::post(uri).header(header.0, header.1);
            request.body(()).expect("a request")
        };
        let path = "/v1/chat/completions";
        for _ in 0..10 {
            for (request, status) in [
                (request(path, ("accept", "*/*")), 401),
                (request(path, ("authorization", "Bearer wrong")), 401),
                (request(path, ("origin", "https://evil.example")), 401),
                (request("/healthz", ("accept", "*/*")), 405),
            ] {
                let told = rejected(&mut sender, &mut ping, request).await;
                assert_eq!(told, (status, false));
            }
        }
        drop((sender, ping));
        connection.abort();
        let _ = connection.await;
        gateway.assert_invariants(()).await;
    });
}

/// A large body is not read: its stream is reset after the rejection.
#[test]
fn a_large_body_is_rejected_without_being_read() {
    case(async {
        let gateway = TestGateway::start(&keyed()).await;
        let stream = TcpStream::connect(gateway.address)
            .await
            .expect("it listens");
        let (mut sender, connection) = client::handshake(stream).await.expect("HTTP/2");
        let connection = tokio::spawn(connection);
        let request = Request::post("http://localhost/v1/chat/completions")
            .header("content-length", "1000000")
            .body(())
            .expect("a request");
        let (response, body) = sender.send_request(request, false).expect("it is open");
        let response = timeout(TEST_TIMEOUT, response).await.expect("in time");
        assert_eq!(response.expect("a rejection").status(), 401);
        drop((sender, body));
        connection.abort();
        let _ = connection.await;
        gateway.assert_invariants(()).await;
    });
}
