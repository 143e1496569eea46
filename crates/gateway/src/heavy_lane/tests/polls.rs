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
use super::bodies::{FAILOVER, OVER_LIMIT, REFUSED, SERVED, Shape};
use super::upstream;
use crate::config::Config;
use crate::server::{Limits, Server, ServerContext};
use crate::state::GatewayState;

/// Longest allowed CPU time of a poll.
const BOUND: Duration = Duration::from_millis(5);
/// Timeout that only a broken server reaches.
const SOON: Duration = Duration::from_secs(50);
/// Longer than the rest of a poll that has written its response.
const SETTLE: Duration = Duration::from_millis(50);
const CLIENTS: usize = 8;
/// The default limit of a body.
const LARGEST: usize = 32 << 20;

/// A server whose every target is the same upstream.
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

/// Sends a request on a blocking thread and returns the status and text of the response.
async fn ask(address: SocketAddr, path: &'static str, body: String) -> (u16, String) {
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(SOON))?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        // After an early refusal the connection may be closed.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        std::io::Result::Ok(answer)
    });
    let answer = asked.await.unwrap().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    (answer[9..12].parse().unwrap(), answer)
}

/// Sends all of them concurrently and checks their statuses.
async fn ask_all(address: SocketAddr, shapes: &'static [Shape], size: usize) {
    let mut asking = JoinSet::new();
    for shape in shapes {
        let body = shape.body(size);
        asking.spawn(async move { (shape, ask(address, shape.path, body).await) });
    }
    let mut wrong = Vec::new();
    while let Some(asked) = asking.join_next().await {
        let (shape, (status, answer)) = asked.unwrap();
        if status != shape.status {
            wrong.push(format!("{} of {size} bytes: {answer}", shape.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The longest poll of a server during some work. The allocator returns memory to the system
/// on whichever thread calls it next, so work with a long poll is repeated: a poll that is
/// really long is long each time.
async fn longest<F: Future<Output = ()>>(work: impl Fn(SocketAddr) -> F) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        // A new server, whose targets are all healthy.
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
    for shapes in SERVED.chunks(CLIENTS) {
        let longest = longest(|address| ask_all(address, shapes, LARGEST / 8)).await;
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
        assert!(longest < BOUND, "{longest:?} with {names:?}");
    }
    let longest = longest(|address| ask_all(address, &SERVED[..CLIENTS], LARGEST)).await;
    assert!(longest < BOUND, "{longest:?} with the largest bodies");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_while_the_largest_light_bodies_are_served() {
    for shapes in SERVED.chunks(CLIENTS) {
        let longest = longest(|address| ask_all(address, shapes, LIGHT * THRESHOLD)).await;
        let names: Vec<&str> = shapes.iter().map(|shape| shape.name).collect();
        assert!(longest < BOUND, "{longest:?} with {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_while_bodies_are_refused() {
    for shapes in [REFUSED, OVER_LIMIT] {
        let longest = longest(|address| ask_all(address, shapes, LARGEST / 8)).await;
        assert!(longest < BOUND, "{longest:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_when_a_request_fails_over_after_the_head_was_sent() {
    let longest = longest(|address| ask_all(address, &[FAILOVER], LARGEST / 8)).await;
    assert!(longest < BOUND, "{longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_of_an_http2_stream_takes_long() {
    let longest = longest(ask_in_one_connection).await;
    assert!(longest < BOUND, "{longest:?}");
}

/// Sends all concurrently, as streams of one HTTP/2 connection.
async fn ask_in_one_connection(address: SocketAddr) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let io = TokioIo::new(stream);
    let opened = http2::handshake::<_, _, Full<Bytes>>(TokioExecutor::new(), io).await;
    let (client, connection) = opened.unwrap();
    let connection = tokio::spawn(connection);
    let mut asking = JoinSet::new();
    for shape in &SERVED[..CLIENTS] {
        let mut client = client.clone();
        let uri = format!("http://{address}{}", shape.path);
        let body = Full::new(Bytes::from(shape.body(LARGEST / 16)));
        let request = http::Request::post(uri).body(body).unwrap();
        asking.spawn(async move { (shape, client.send_request(request).await.unwrap()) });
    }
    while let Some(asked) = asking.join_next().await {
        let (shape, response) = asked.unwrap();
        assert_eq!(response.status(), shape.status, "{}", shape.name);
    }
    connection.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_poll_takes_long_when_a_small_request_has_a_large_response() {
    let asking = |address| async move {
        let body = r#"{"model":"an/m","messages":[{"role":"user","content":"large"}]}"#;
        let (status, _) = ask(address, "/v1/chat/completions", body.to_owned()).await;
        assert_eq!(status, 200);
    };
    let longest = longest(asking).await;
    assert!(longest < BOUND, "{longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_lane_the_same_polls_take_long() {
    let (address, context, running) = served(usize::MAX).await;
    ask_all(address, &SERVED[..1], LARGEST / 8).await;
    sleep(SETTLE).await;
    let longest = context.polls.take_longest();
    assert!(longest > BOUND, "{longest:?}: the watchdog sees nothing");
    running.abort();
}
