//! Signals: graceful drain, immediate exit, restart after a kill.

use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::served::{END, EVENT, FOREVER, Start, ask, exchange, provider, standing_still, until};

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
    let mut served = Start::with(provider(&upstream)).start().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        let mut stream = served.connect().await;
        let sent = stream.write_all(ask("up/m", true).as_bytes()).await;
        sent.expect("it reads");
        streams.push(stream);
    }
    upstream.posted(100, FOREVER).await;
    served.signal("TERM");
    for stream in &mut streams {
        until(stream, "[DONE]").await;
    }
    assert_eq!(served.ended().await, Some(0));
    let log = served.log();
    assert_eq!(log.matches("outcome=\"complete\"").count(), 100, "{log}");
}

#[tokio::test]
async fn an_endless_stream_is_cut_at_the_drain_timeout() {
    let upstream = Upstream::start([standing_still()]).await;
    let config = format!("[server]\ndrain = \"200ms\"\n{}", provider(&upstream));
    let mut served = Start::with(config).start().await;
    let mut stream = served.connect().await;
    let sent = stream.write_all(ask("up/m", true).as_bytes()).await;
    sent.expect("it reads");
    until(&mut stream, "word").await;
    served.signal("TERM");
    until(&mut stream, "server_shutdown").await;
    assert_eq!(served.ended().await, Some(0));
    let log = served.log();
    assert!(log.contains("outcome=\"interrupted\""), "{log}");
}

#[tokio::test]
async fn a_second_signal_exits_at_once() {
    for second in ["TERM", "INT"] {
        let upstream = Upstream::start([standing_still()]).await;
        let config = format!("[server]\ndrain = \"1h\"\n{}", provider(&upstream));
        let mut served = Start::with(config).start().await;
        let mut stream = served.connect().await;
        let sent = stream.write_all(ask("up/m", true).as_bytes()).await;
        sent.expect("it reads");
        until(&mut stream, "word").await;
        served.signal("TERM");
        served.look_until("/readyz", "HTTP/1.1 503").await;
        assert!(served.is_running());
        served.signal(second);
        assert_eq!(served.ended().await, Some(1), "{second}");
    }
}

#[tokio::test]
async fn a_killed_gateway_serves_again_at_once() {
    let upstream = Upstream::start([standing_still()]).await;
    let config = provider(&upstream);
    let mut served = Start::with(config.clone()).start().await;
    for round in 0..3 {
        // Killed during streams, requests and half a header.
        let mut busy = Vec::new();
        for text in [
            ask("up/m", true),
            ask("demo/text", true),
            "POST /v1/me".to_owned(),
        ] {
            let mut stream = served.connect().await;
            let _ = stream.write_all(text.as_bytes()).await;
            busy.push(stream);
        }
        until(&mut busy[0], "word").await;
        served.signal("KILL");
        served.ended().await;
        let address = served.address;
        let began = Instant::now();
        let start = Start {
            listen: Some(address),
            ..Start::with(config.clone())
        };
        served = start.start().await;
        let ready = async {
            let head = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            while !exchange(address, head).await.starts_with("HTTP/1.1 200") {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(FOREVER, ready).await.expect("it is ready again");
        println!("round {round}: ready after {:?}", began.elapsed());
        served.assert_alive().await;
        drop(busy);
    }
}

#[tokio::test]
async fn a_request_in_flight_at_shutdown_gets_a_503() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let config = format!("[server]\ndrain = \"100ms\"\n{}", provider(&upstream));
    let mut served = Start::with(config).start().await;
    let mut stream: TcpStream = served.connect().await;
    let sent = stream.write_all(ask("up/m", false).as_bytes()).await;
    sent.expect("it reads");
    // The upstream may have received only a request for its models.
    served
        .look_until("/metrics", "majordomo_open_requests 1")
        .await;
    served.signal("INT");
    until(&mut stream, "HTTP/1.1 503").await;
    assert_eq!(served.ended().await, Some(0));
}
