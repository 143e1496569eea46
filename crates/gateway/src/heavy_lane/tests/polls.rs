//! No poll of the server's tasks takes long while large bodies are served.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use majordomo::transport::{Transport, TransportConfig as Client};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::*;
use super::bodies::{BodyShape, FAILOVER, SHAPES};
use super::upstream;
use crate::config::Config;
use crate::server::{Limits, Server, ServerContext};
use crate::state::GatewayState;

/// Longest accepted poll, in thread CPU time.
const BOUND: Duration = Duration::from_millis(5);
/// Timeout of a response.
const SOON: Duration = Duration::from_secs(50);
/// Longer than the rest of a poll that has written its response.
const SETTLE: Duration = Duration::from_millis(50);
const CLIENTS: usize = 8;
/// Largest accepted body.
const LARGEST: usize = 32 << 20;

/// A server with one upstream behind every target.
async fn served(heavy: usize) -> (SocketAddr, Arc<ServerContext>, tokio::task::JoinHandle<()>) {
    let (upstream, silent) = (upstream::start(), upstream::start_silent());
    let text = format!(
        r#"
        [server]
        listen = "127.0.0.1:0"
        keepalive = "100ms"
        [providers.oa]
        kind = "openai"
        base_url = "http://{upstream}/v1"
        api_key = "k"
        [providers.an]
        kind = "anthropic"
        base_url = "http://{upstream}"
        api_key = "k"
        [providers.go]
        kind = "google"
        base_url = "http://{upstream}/v1beta"
        api_key = "k"
        [providers.silent]
        kind = "openai"
        base_url = "http://{silent}/v1"
        api_key = "k"
        [aliases]
        late = "silent/m,go/m"
        "#
    );
    let environment = BTreeMap::new();
    let config = Config::parse("m.toml", &text, &environment).unwrap();
    let transport = Transport::new(Client::default());
    let state = GatewayState::new(&config, &environment, &transport, None).unwrap();
    let limits = Limits {
        heavy,
        ..Limits::default()
    };
    let server = Server::bind_with(Arc::new(state), limits).await.unwrap();
    let (address, context) = (server.address().unwrap(), server.context());
    let running = tokio::spawn(server.run(std::future::pending()));
    (address, context, running)
}

/// Sends a request on a separate thread and returns the status.
async fn send(address: SocketAddr, path: &'static str, body: String) -> u16 {
    let sent = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(SOON))?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        // An early rejection may close the connection.
        let _ = stream.write_all(body.as_bytes());
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        std::io::Result::Ok(response)
    });
    let response = sent.await.unwrap().unwrap();
    let status = std::str::from_utf8(&response[9..12]).unwrap();
    status.parse().unwrap()
}

/// Sends all of these concurrently.
async fn send_all(address: SocketAddr, shapes: &'static [BodyShape], size: usize) {
    let mut sending = JoinSet::new();
    for shape in shapes {
        let body = shape.body(size);
        sending.spawn(async move { (shape.name, send(address, shape.path, body).await) });
    }
    while let Some(sent) = sending.join_next().await {
        let (name, status) = sent.unwrap();
        let responded = status == 200 || (400..500).contains(&status);
        assert!(responded, "{name}: {status}");
    }
}

/// The longest poll of a server during some work. The allocator returns memory to the
/// system in an arbitrary thread, so work with a long poll is repeated: our own long
/// polls recur.
async fn longest<F: Future<Output = ()>>(work: impl Fn(SocketAddr) -> F) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        // A new server, with healthy targets.
        let (address, context, running) = served(THRESHOLD).await;
        work(address).await;
        // A client has its response before the poll that wrote it ends.
        sleep(SETTLE).await;
        least = least.min(context.polls.take_longest());
        running.abort();
        if least < BOUND {
            break;
        }
    }
    least
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_while_eight_clients_send_the_costliest_bodies() {
    for shapes in SHAPES.chunks(CLIENTS) {
        let longest = longest(|address| send_all(address, shapes, LARGEST / 8)).await;
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
        assert!(longest < BOUND, "{longest:?} with {names:?}");
    }
    let longest = longest(|address| send_all(address, &SHAPES[..CLIENTS], LARGEST)).await;
    assert!(longest < BOUND, "{longest:?} with the largest bodies");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_when_failover_happens_after_the_head_was_sent() {
    let longest = longest(|address| send_all(address, &[FAILOVER], LARGEST / 8)).await;
    assert!(longest < BOUND, "{longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_of_an_http2_stream_takes_long() {
    let longest = longest(send_over_one_connection).await;
    assert!(longest < BOUND, "{longest:?}");
}

/// Sends all concurrently, as HTTP/2 streams.
async fn send_over_one_connection(address: SocketAddr) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let io = TokioIo::new(stream);
    let opened = http2::handshake::<_, _, Full<Bytes>>(TokioExecutor::new(), io).await;
    let (client, connection) = opened.unwrap();
    let connection = tokio::spawn(connection);
    let mut sending = JoinSet::new();
    for shape in &SHAPES[..CLIENTS] {
        let mut client = client.clone();
        let uri = format!("http://{address}{}", shape.path);
        let body = Full::new(Bytes::from(shape.body(LARGEST / 16)));
        let request = http::Request::post(uri).body(body).unwrap();
        sending.spawn(async move { client.send_request(request).await.unwrap().status() });
    }
    while let Some(status) = sending.join_next().await {
        assert!(!status.unwrap().is_server_error());
    }
    connection.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_when_a_small_request_has_a_large_response() {
    let sending = |address| async move {
        let body = r#"{"model":"an/m","messages":[{"role":"user","content":"large"}]}"#;
        let status = send(address, "/v1/chat/completions", body.to_owned()).await;
        assert_eq!(status, 200);
    };
    let longest = longest(sending).await;
    assert!(longest < BOUND, "{longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_lane_the_same_polls_take_long() {
    let (address, context, running) = served(usize::MAX).await;
    send_all(address, &SHAPES[..1], LARGEST / 8).await;
    sleep(SETTLE).await;
    let longest = context.polls.take_longest();
    assert!(longest > BOUND, "{longest:?}: the measurement is broken");
    running.abort();
}
