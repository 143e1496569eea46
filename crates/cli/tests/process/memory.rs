//! Memory: leaks by faults, cost of streams, release after bursts.

use std::sync::Arc;
use std::time::Duration;

use majordomo_testkit::{Script, Upstream, frames};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::gateway::{
    EVENT, GatewayCommand, GatewayProcess, chat_request, descriptors, exchange, full, post,
    provider, serving, stalling_stream, until, with_image,
};

const MIB: usize = 1 << 20;
/// Time after which the memory of requests is released.
pub(crate) const SETTLING: Duration = Duration::from_secs(5);

/// Waits until memory falls to `most`; returns the last value.
pub(crate) async fn memory_falls_to(gateway: &GatewayProcess, most: usize) -> usize {
    let falling = async {
        while gateway.memory() > most {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = timeout(Duration::from_secs(20), falling).await;
    gateway.memory()
}

/// Sends a request, waits for this text, and disconnects.
async fn send_and_disconnect(gateway: &GatewayProcess, request: &[u8], after: &str) {
    let mut stream = gateway.connect().await;
    let _ = stream.write_all(request).await;
    if !after.is_empty() {
        until(&mut stream, after).await;
    }
}

/// Each kind of fault, once.
async fn faults(gateway: &GatewayProcess) {
    send_and_disconnect(gateway, chat_request("still/m", true).as_bytes(), "word").await;
    send_and_disconnect(gateway, chat_request("mute/m", false).as_bytes(), "").await;
    send_and_disconnect(gateway, &chat_request("still/m", true).as_bytes()[..60], "").await;
    for request in [
        chat_request("reset/m", false),
        chat_request("cut/m", true),
        chat_request("broken/m", false),
        chat_request("unknown/x", false),
        post("/v1/messages", "", "{\"model\":"),
        post("/v1/responses", "", &"[".repeat(100_000)),
        post(
            "/api/chat",
            "",
            &format!("{{\"x\":\"{}\"}}", "y".repeat(MIB)),
        ),
        "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n".to_owned(),
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999\r\n\r\n"
            .to_owned(),
        format!("GET /{} HTTP/1.1\r\n", "x".repeat(40_000)),
    ] {
        gateway.send(request).await;
    }
    let http2 = [
        frames::PREFACE,
        &frames::settings(),
        &frames::post(1, "/v1/chat/completions", "CANARY"),
        &frames::reset(1, 8),
        &frames::window_update(3, 0),
    ];
    gateway.send(http2.concat()).await;
}

#[tokio::test]
async fn a_hundred_rounds_of_faults_leak_no_memory() {
    let upstreams = [
        ("still", stalling_stream()),
        ("mute", Script::new().read_request().stall()),
        ("reset", Script::new().read_request().reset()),
        (
            "cut",
            Script::new().read_request().stream_head().chunk(EVENT),
        ),
        (
            "broken",
            Script::new()
                .read_request()
                .respond(200, "application/json", "{\"a\":"),
        ),
    ];
    let mut config = "[health]\nthreshold = 1000\n".to_owned();
    let mut running = Vec::new();
    for (name, script) in upstreams {
        let upstream = Upstream::start([script]).await;
        config += &provider(&upstream).replace("providers.up", &format!("providers.{name}"));
        running.push(upstream);
    }
    let mut gateway = GatewayCommand::with(config).start().await;
    for _ in 0..20 {
        faults(&gateway).await;
    }
    gateway
        .operator_get_until("/metrics", "majordomo_open_requests 0")
        .await;
    let before = gateway.memory();
    for _ in 0..100 {
        faults(&gateway).await;
    }
    gateway
        .operator_get_until("/metrics", "majordomo_open_requests 0")
        .await;
    let after = memory_falls_to(&gateway, before + 16 * MIB).await;
    println!("{} KiB before, {} KiB after", before / 1024, after / 1024);
    assert!(after <= before + 16 * MIB, "{before} became {after}");
    assert!(gateway.is_running());
    let log = gateway.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(!log.contains("CANARY"), "{log}");
    gateway.assert_alive().await;
}

#[tokio::test]
async fn two_thousand_streams_take_at_most_48_kib_each() {
    let paced = (0..4).fold(
        Script::new().read_request().stream_head().chunk(EVENT),
        |script, _| script.wait(Duration::from_secs(1)).chunk(EVENT),
    );
    let upstream = Upstream::start([paced.stall()]).await;
    let config = format!("[server]\nmax_requests = 20000\n{}", provider(&upstream));
    let gateway = GatewayCommand::with(config).start().await;
    for _ in 0..20 {
        gateway.assert_alive().await;
    }
    // Each stream takes three descriptors in this process: one of the client, two of the
    // upstream.
    let wanted = if full() { 8_000 } else { 2_000 };
    let count = wanted.min((descriptors() - 100) / 3);
    let before = gateway.memory();
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = gateway.connect().await;
        let sent = stream
            .write_all(chat_request("up/m", true).as_bytes())
            .await;
        sent.expect("it reads");
        until(&mut stream, "word").await;
        streams.push(stream);
    }
    let open = format!("majordomo_open_streams {count}");
    gateway.operator_get_until("/metrics", &open).await;
    let each = gateway.memory().saturating_sub(before) / count;
    println!("{count} streams of {each} bytes each, {before} bytes without them");
    assert!(each <= 48 * 1024, "{each} bytes for each of {count}");
    drop(streams);
    gateway
        .operator_get_until("/metrics", "majordomo_open_streams 0")
        .await;
    gateway.assert_alive().await;
}

/// Sends requests, twenty at a time; returns the gateway's peak memory.
async fn burst(gateway: &GatewayProcess, body: &Arc<[u8]>, count: usize) -> usize {
    let mut highest = 0;
    let mut in_flight = JoinSet::new();
    for sent in 0..=count {
        while in_flight.len() >= 20 || (sent == count && !in_flight.is_empty()) {
            let response: String = in_flight.join_next().await.expect("one").expect("no panic");
            assert!(response.starts_with("HTTP/1.1 200"), "{response}");
            highest = highest.max(gateway.memory());
        }
        if sent < count {
            let (address, body) = (gateway.address, Arc::clone(body));
            in_flight.spawn(async move { exchange(address, &body).await });
        }
    }
    highest
}

#[tokio::test]
async fn memory_after_a_burst_of_images_returns_to_within_a_fifth() {
    let upstream = Upstream::start([serving(1)]).await;
    let gateway = GatewayCommand::with(provider(&upstream)).start().await;
    burst(
        &gateway,
        &chat_request("up/m", false).into_bytes().into(),
        200,
    )
    .await;
    sleep(SETTLING).await;
    let idle = gateway.memory();
    let pictures = with_image("up/m", 5 * MIB).into();
    let highest = burst(&gateway, &pictures, 200).await;
    let most = idle + idle / 5;
    let after = memory_falls_to(&gateway, most).await;
    println!("idle {idle}, highest {highest}, after {after} bytes");
    assert!(after <= most, "{idle} became {after}");
}
