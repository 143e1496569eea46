//! Resource limits: file descriptors and memory.

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::gateway::{EVENT, GatewayCommand, chat_request, provider, until, with_image};

#[tokio::test]
async fn without_file_descriptors_streams_go_on_and_new_connections_wait() {
    let script = Script::new()
        .read_request()
        .stream_head()
        .chunk(EVENT)
        .wait(Duration::from_secs(2))
        .chunk(EVENT.replace("word", "later"))
        .stall();
    let upstream = Upstream::start([script]).await;
    let gateway = GatewayCommand {
        before: "ulimit -n 256",
        ..GatewayCommand::with(provider(&upstream))
    }
    .start()
    .await;
    let mut stream = gateway.connect().await;
    let sent = stream
        .write_all(chat_request("up/m", true).as_bytes())
        .await;
    sent.expect("it reads");
    until(&mut stream, "word").await;
    // The kernel completes the connections that it cannot accept.
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(TcpStream::connect(gateway.address).await.expect("a queue"));
    }
    until(&mut stream, "later").await;
    drop(idle);
    gateway.assert_alive().await;
    let log = gateway.log();
    assert!(log.contains("could not be accepted"), "{log}");
}

#[tokio::test]
async fn with_little_memory_bodies_wait_or_are_refused_and_the_process_survives() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let config = format!(
        "[server]\nmax_bytes_in_flight = \"64MiB\"\nmax_body = \"16MiB\"\n{}",
        provider(&upstream)
    );
    let mut gateway = GatewayCommand {
        // Address space, not pages: the allocator reserves it by the gigabyte.
        before: "ulimit -v 2621440",
        ..GatewayCommand::with(config)
    }
    .start()
    .await;
    let body = with_image("up/m", 5 << 20);
    let mut responses = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (address, body) = (gateway.address, body.clone());
        responses.spawn(async move { crate::gateway::exchange(address, &body).await });
    }
    // The admitted ones stall; the others are refused when their wait ends.
    let mut refused = 0;
    while refused < 40 - 64 / 6 {
        let response = responses.join_next().await.expect("some are refused");
        let response = response.expect("it does not panic");
        assert!(response.starts_with("HTTP/1.1 503"), "{response}");
        assert!(response.contains("retry-after: 1"), "{response}");
        refused += 1;
    }
    assert!(gateway.is_running());
    responses.abort_all();
    gateway
        .operator_get_until("/metrics", "majordomo_open_requests 0")
        .await;
    gateway.assert_alive().await;
}
