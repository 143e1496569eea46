//! Rejections that are decided before the body has arrived.
//!
//! A client that still sends its body when the stream is reset or the connection closed
//! reports that instead of the rejection: curl 7.88 over HTTP/2, `fetch` of Node.js.

use std::future::poll_fn;
use std::task::Poll;

use bytes::Bytes;
use h2::SendStream;
use h2::client::{self, SendRequest};
use http::Request;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::test_gateway::{CLIENT_KEY, TEST_TIMEOUT, TestGateway, case, statuses};

const PATH: &str = "/v1/chat/completions";

fn keyed() -> String {
    format!("[[keys]]\nname = \"a\"\nkey = \"{CLIENT_KEY}\"\n")
}

/// An HTTP/2 connection.
struct Multiplexed {
    sender: SendRequest<Bytes>,
    ping: h2::PingPong,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Multiplexed {
    async fn to(gateway: &TestGateway) -> Self {
        let stream = TcpStream::connect(gateway.address).await;
        let (sender, mut connection) = client::handshake(stream.expect("it listens"))
            .await
            .expect("HTTP/2");
        let ping = connection.ping_pong().expect("once");
        let connection = tokio::spawn(connection);
        Self {
            sender,
            ping,
            connection,
        }
    }

    /// After this the gateway has seen what was sent before it.
    async fn settle(&mut self) {
        let pong = timeout(TEST_TIMEOUT, self.ping.ping(h2::Ping::opaque())).await;
        pong.expect("in time").expect("it is open");
        tokio::task::yield_now().await;
    }

    /// A request whose body of three parts is still being sent when the gateway knows that it
    /// rejects it. Returns the status and whether the stream was reset.
    async fn rejected(&mut self, request: Request<()>, part: &Bytes) -> (u16, bool) {
        let sent = self.sender.send_request(request, false);
        let (response, mut body) = sent.expect("it is open");
        for index in 0..3 {
            self.settle().await;
            // A part that cannot be sent shows as a reset below.
            let sent = timeout(TEST_TIMEOUT, send(&mut body, part.clone(), index == 2)).await;
            sent.expect("the gateway reads");
        }
        let response = timeout(TEST_TIMEOUT, response).await.expect("in time");
        let response = response.expect("a rejection, not a broken stream");
        let status = response.status().as_u16();
        let mut data = response.into_body();
        while let Some(read) = timeout(TEST_TIMEOUT, data.data()).await.expect("in time") {
            read.expect("a whole rejection");
        }
        self.settle().await;
        let reset = poll_fn(|cx| Poll::Ready(body.poll_reset(cx).is_ready())).await;
        (status, reset)
    }

    async fn close(self) {
        drop((self.sender, self.ping));
        self.connection.abort();
        let _ = self.connection.await;
    }
}

/// Sends a part as the gateway makes room for it.
async fn send(body: &mut SendStream<Bytes>, mut part: Bytes, last: bool) {
    while !part.is_empty() {
        body.reserve_capacity(part.len());
        let Some(Ok(room)) = poll_fn(|cx| body.poll_capacity(cx)).await else {
            return;
        };
        let chunk = part.split_to(room.min(part.len()));
        let _ = body.send_data(chunk, last && part.is_empty());
    }
}

fn request(path: &str, header: (&str, &str)) -> Request<()> {
    let request = Request::post(format!("http://localhost{path}")).header(header.0, header.1);
    request.body(()).expect("a request")
}

#[test]
fn the_body_of_a_rejected_request_is_read_so_that_its_stream_is_not_reset() {
    case(async {
        let gateway = TestGateway::start(&keyed()).await;
        let mut client = Multiplexed::to(&gateway).await;
        for length in [9, 300_000, 4_000_000] {
            let part = Bytes::from("x".repeat(length));
            for _ in 0..3 {
                for (request, status) in [
                    (request(PATH, ("accept", "*/*")), 401),
                    (request(PATH, ("authorization", "Bearer wrong")), 401),
                    (request(PATH, ("origin", "https://evil.example")), 401),
                    (request("/healthz", ("accept", "*/*")), 405),
                ] {
                    let told = client.rejected(request, &part).await;
                    assert_eq!(told, (status, false), "3 × {length} bytes");
                }
            }
        }
        client.close().await;
        gateway.assert_invariants(()).await;
    });
}

/// The body is too large, which only its last bytes tell.
#[test]
fn the_rest_of_a_body_that_grows_too_large_is_read() {
    case(async {
        let config = format!("[server]\nmax_body = \"1 MB\"\n{}", keyed());
        let gateway = TestGateway::start(&config).await;
        let mut client = Multiplexed::to(&gateway).await;
        let bearer = format!("Bearer {CLIENT_KEY}");
        let part = Bytes::from("x".repeat(2_000_000));
        let told = client.rejected(request(PATH, ("authorization", &bearer)), &part);
        assert_eq!(told.await, (413, false));
        client.close().await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_rejection_does_not_wait_for_the_body_and_an_endless_body_is_not_read() {
    case(async {
        let gateway = TestGateway::start(&keyed()).await;
        let mut client = Multiplexed::to(&gateway).await;
        for (length, reset) in [("1000000", false), ("100000000000", true)] {
            let sent = client
                .sender
                .send_request(request(PATH, ("content-length", length)), false);
            let (response, mut body) = sent.expect("it is open");
            let response = timeout(TEST_TIMEOUT, response).await.expect("in time");
            assert_eq!(response.expect("a rejection").status(), 401);
            client.settle().await;
            let told = poll_fn(|cx| Poll::Ready(body.poll_reset(cx).is_ready())).await;
            assert_eq!(told, reset, "{length} bytes are announced");
        }
        client.close().await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn over_http1_a_connection_outlives_the_body_of_a_rejected_request() {
    case(async {
        let gateway = TestGateway::start(&keyed()).await;
        let mut client = gateway.connect().await;
        let head = |length: usize, more: &str| {
            format!(
                "POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n{more}\r\n"
            )
        };
        for length in [9, 5_000_000] {
            client.send(head(length, "")).await;
            // The rejection comes before the body.
            let response = client.until("\"error\"").await;
            assert_eq!(statuses(&response), [401], "{response}");
            client.send("x".repeat(length)).await;
        }
        client.send(head(0, "connection: close\r\n")).await;
        let response = client.rest().await;
        assert_eq!(statuses(&response), [401], "{response}");
        drop(client);
        gateway.assert_invariants(()).await;
    });
}
