//! Signals: graceful drain, immediate exit, restart after a kill.

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::gateway::{
    END, EVENT, GatewayCommand, TIMEOUT, chat_request, exchange, provider, stalling_stream, until,
};

#[tokio::test]
async fn a_hundred_streams_complete_after_sigterm() {
    let script = Script::new()
        .read_request()
        .stream_head()
        .chunk(EVENT)
        .wait(Duration::from_secs(1))
        .chunk(END)
        .last_chunk();
    let upstream = Upstream::start([script]).await;
    let mut gateway = GatewayCommand::with(provider(&upstream)).start().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        let mut stream = gateway.connect().await;
        let sent = stream
            .write_all(chat_request("up/m", true).as_bytes())
            .await;
        sent.expect("it reads");
        streams.push(stream);
    }
    upstream.posted(100, TIMEOUT).await;
    gateway.signal("TERM");
    for stream in &mut streams {
        until(stream, "[DONE]").await;
    }
    assert_eq!(gateway.ended().await, Some(0));
    let log = gateway.log();
    assert_eq!(log.matches("outcome=\"complete\"").count(), 100, "{log}");
}

#[tokio::test]
async fn an_endless_stream_is_cut_at_the_drain_timeout() {
    let upstream = Upstream::start([stalling_stream()]).await;
    let config = format!("[server]\ndrain = \"200ms\"\n{}", provider(&upstream));
    let mut gateway = GatewayCommand::with(config).start().await;
    let mut stream = gateway.connect().await;
    let sent = stream
        .write_all(chat_request("up/m", true).as_bytes())
        .await;
    sent.expect("it reads");
    until(&mut stream, "word").await;
    gateway.signal("TERM");
    until(&mut stream, "server_shutdown").await;
    assert_eq!(gateway.ended().await, Some(0));
    let log = gateway.log();
    assert!(log.contains("outcome=\"interrupted\""), "{log}");
}

#[tokio::test]
async fn a_second_signal_exits_at_once() {
    for second in ["TERM", "INT"] {
        let upstream = Upstream::start([stalling_stream()]).await;
        let config = format!("[server]\ndrain = \"1h\"\n{}", provider(&upstream));
        let mut gateway = GatewayCommand::with(config).start().await;
        let mut stream = gateway.connect().await;
        let sent = stream
            .write_all(chat_request("up/m", true).as_bytes())
            .await;
        sent.expect("it reads");
        until(&mut stream, "word").await;
        gateway.signal("TERM");
        gateway.operator_get_until("/readyz", "HTTP/1.1 503").await;
        assert!(gateway.is_running());
        gateway.signal(second);
        assert_eq!(gateway.ended().await, Some(1), "{second}");
    }
}

#[tokio::test]
async fn a_killed_gateway_serves_again_at_once() {
    let upstream = Upstream::start([stalling_stream()]).await;
    let config = provider(&upstream);
    let mut gateway = GatewayCommand::with(config.clone()).start().await;
    for round in 0..3 {
        // Killed during streams, requests and half a header.
        let mut busy = Vec::new();
        for text in [
            chat_request("up/m", true),
            chat_request("demo/text", true),
            "POST /v1/me".to_owned(),
        ] {
            let mut stream = gateway.connect().await;
            let _ = stream.write_all(text.as_bytes()).await;
            busy.push(stream);
        }
        until(&mut busy[0], "word").await;
        gateway.signal("KILL");
        gateway.ended().await;
        let address = gateway.address;
        let began = Instant::now();
        let start = GatewayCommand {
            listen: Some(address),
            ..GatewayCommand::with(config.clone())
        };
        gateway = start.start().await;
        let ready = async {
            let head = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            while !exchange(address, head).await.starts_with("HTTP/1.1 200") {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(TIMEOUT, ready).await.expect("it is ready again");
        println!("round {round}: ready after {:?}", began.elapsed());
        gateway.assert_alive().await;
        drop(busy);
    }
}

#[tokio::test]
async fn a_request_in_flight_at_shutdown_gets_a_503() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let config = format!("[server]\ndrain = \"100ms\"\n{}", provider(&upstream));
    let mut gateway = GatewayCommand::with(config).start().await;
    let mut stream: TcpStream = gateway.connect().await;
    let sent = stream
        .write_all(chat_request("up/m", false).as_bytes())
        .await;
    sent.expect("it reads");
    // The upstream may have received only a request for its models.
    gateway
        .operator_get_until("/metrics", "majordomo_open_requests 1")
        .await;
    gateway.signal("INT");
    until(&mut stream, "HTTP/1.1 503").await;
    assert_eq!(gateway.ended().await, Some(0));
}
