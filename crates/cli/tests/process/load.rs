//! Load, reduced by default and full-sized with `MAJORDOMO_LOAD=full`.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use majordomo_testkit::{Script, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::gateway::{
    END, EVENT, GatewayCommand, TIMEOUT, chat_request, descriptors, exchange, full, provider,
    serving, until,
};

#[tokio::test]
async fn slow_and_departing_readers_do_not_affect_other_streams() {
    let events = 20;
    let script = (0..events).fold(Script::new().read_request().stream_head(), |script, _| {
        script.chunk(EVENT).wait(Duration::from_millis(50))
    });
    let upstream = Upstream::start([script.chunk(END).last_chunk()]).await;
    let config = format!("[server]\nmax_requests = 20000\n{}", provider(&upstream));
    let gateway = GatewayCommand::with(config).start().await;
    let wanted = if full() { 5_000 } else { 300 };
    let count = wanted.min((descriptors() - 100) / 3);
    let mut reading = JoinSet::new();
    let mut slow = Vec::new();
    for n in 0..count {
        let mut stream = gateway.connect().await;
        let sent = stream
            .write_all(chat_request("up/m", true).as_bytes())
            .await;
        sent.expect("it reads");
        match n % 20 {
            0 | 10 => slow.push(stream),
            5 => {
                reading.spawn(async move {
                    until(&mut stream, "word").await;
                    events
                });
            }
            _ => {
                reading.spawn(async move {
                    let mut all = String::new();
                    let read = timeout(TIMEOUT, stream.read_to_string(&mut all)).await;
                    read.expect("it ends").expect("it is whole");
                    assert!(all.contains("[DONE]"), "{all}");
                    all.matches("word").count()
                });
            }
        }
    }
    while let Some(words) = reading.join_next().await {
        assert_eq!(words.expect("it does not panic"), events);
    }
    // The slow readers still receive everything.
    for mut stream in slow {
        until(&mut stream, "[DONE]").await;
    }
    gateway
        .operator_get_until("/metrics", "majordomo_open_streams 0")
        .await;
    gateway.assert_alive().await;
}

/// Sends requests on one connection; returns the sorted latencies.
async fn latencies(address: SocketAddr, request: Vec<u8>, times: usize) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.set_nodelay(true).expect("a socket takes options");
    let mut took = Vec::with_capacity(times);
    let mut response = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        stream.write_all(&request).await.expect("it reads");
        response.clear();
        while !response.ends_with(b"}}") {
            let count = stream.read_buf(&mut response).await.expect("it responds");
            assert!(count > 0, "{}", String::from_utf8_lossy(&response));
        }
        assert!(
            response.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&response)
        );
        took.push(began.elapsed());
    }
    took.sort_unstable();
    took
}

#[tokio::test]
async fn small_requests_are_all_served_and_their_overhead_is_printed() {
    let times = if full() { 20_000 } else { 1_000 };
    let upstream = Upstream::start([serving(times + 1)]).await;
    let gateway = GatewayCommand::with(provider(&upstream)).start().await;
    let request = chat_request("up/m", false)
        .replace("connection: close\r\n", "")
        .into_bytes();
    let direct = latencies(upstream.address(), request.clone(), times).await;
    let through = latencies(gateway.address, request.clone(), times).await;
    let at = |took: &[Duration], percent: usize| took[(took.len() - 1) * percent / 100];
    println!(
        "latency: p50 {:?} and p99 {:?} through the gateway, {:?} and {:?} without",
        at(&through, 50),
        at(&through, 99),
        at(&direct, 50),
        at(&direct, 99)
    );
    let mut clients = JoinSet::new();
    let began = Instant::now();
    for _ in 0..8 {
        clients.spawn(latencies(gateway.address, request.clone(), times / 4));
    }
    while let Some(took) = clients.join_next().await {
        took.expect("all are served");
    }
    println!(
        "throughput: {:.0} requests a second",
        2.0 * times as f64 / began.elapsed().as_secs_f64()
    );
    gateway.assert_alive().await;
}

/// Time to serve a request, and backoff of a refused client: with both, 24 clients demand
/// three times what four concurrent requests can serve.
const SERVICE_TIME: Duration = Duration::from_millis(50);
const BACKOFF: Duration = Duration::from_millis(125);

/// Runs clients concurrently; returns how many requests were served and refused, and the
/// goodput per second.
async fn run_clients(address: SocketAddr, clients: usize, rounds: usize) -> (usize, usize, f64) {
    let mut in_flight = JoinSet::new();
    let began = Instant::now();
    for _ in 0..clients {
        in_flight.spawn(async move {
            let mut good = 0;
            for _ in 0..rounds {
                let response = exchange(address, chat_request("up/m", false).as_bytes()).await;
                if response.starts_with("HTTP/1.1 200") {
                    good += 1;
                } else {
                    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
                    assert!(response.contains("retry-after: 1"), "{response}");
                    tokio::time::sleep(BACKOFF).await;
                }
            }
            good
        });
    }
    let mut good = 0;
    while let Some(served) = in_flight.join_next().await {
        good += served.expect("it does not panic");
    }
    let rate = good as f64 / began.elapsed().as_secs_f64();
    (good, clients * rounds - good, rate)
}

#[tokio::test]
async fn beyond_capacity_the_gateway_serves_what_it_can_and_refuses_the_rest() {
    let script = Script::new()
        .read_request()
        .wait(SERVICE_TIME)
        .respond(200, "application/json", crate::gateway::RESPONSE)
        .times(100_000);
    let upstream = Upstream::start([script]).await;
    let config = format!("[server]\nmax_requests = 4\n{}", provider(&upstream));
    let gateway = GatewayCommand::with(config).start().await;
    let rounds = if full() { 400 } else { 20 };
    // Six keep four seats taken, and always find room in the queue.
    let (_, _, peak) = run_clients(gateway.address, 6, rounds).await;
    let (good, refused, goodput) = run_clients(gateway.address, 24, rounds).await;
    println!(
        "overload: {good} gateway, {refused} refused; {goodput:.0} a second, {:.0} % of {peak:.0}",
        100.0 * goodput / peak
    );
    assert!(refused > 0, "at most four wait besides those being served");
    // The goal is 90 %; a busy machine may keep 24 clients from sending in time.
    let least = if full() { 0.9 } else { 0.5 };
    assert!(goodput >= least * peak, "{goodput} of {peak}");
    let (good, refused, rate) = run_clients(gateway.address, 4, rounds).await;
    println!("after overload: {rate:.0} a second");
    assert_eq!(
        (good, refused),
        (4 * rounds, 0),
        "after the overload all are served again"
    );
    gateway
        .operator_get_until("/metrics", "majordomo_open_requests 0")
        .await;
    gateway.assert_alive().await;
}

/// A configuration with many keys, aliases and rules.
fn many(keys: usize, targets: usize, rules: usize) -> String {
    let mut text = String::new();
    for n in 0..keys {
        let _ = writeln!(
            text,
            "[[keys]]\nname = \"k{n}\"\nhash = \"sha256:{n:064x}\""
        );
    }
    text += "[[keys]]\nname = \"me\"\nkey = \"CANARY-key-that-is-long-enough\"\n";
    text += "[aliases]\n";
    for n in 0..targets {
        let _ = writeln!(text, "a{n} = \"demo/m{n}\"");
    }
    text += "[[routes]]\nmodel = \"r\"\nservices = [ { spec = \"demo/text\" } ]\n";
    for n in 0..rules {
        let _ = writeln!(
            text,
            "[[routes.smart]]\nname = \"s{n}\"\nwhen = [ {{ position = \"token\", op = \"ge\", value = {} }} ]\nservices = [ {{ spec = \"a{}\" }} ]",
            1_000_000 + n,
            n % targets
        );
    }
    text
}

#[tokio::test]
async fn ten_thousand_keys_and_a_thousand_rules_are_served_and_reloaded() {
    let began = Instant::now();
    let gateway = GatewayCommand::with(many(10_000, 1_000, 1_000))
        .start()
        .await;
    println!("started after {:?}", began.elapsed());
    let with_key = |model: &str| {
        chat_request(model, false).replace(
            "host:",
            "x-api-key: CANARY-key-that-is-long-enough\r\nhost:",
        )
    };
    for model in ["demo/text", "r"] {
        let began = Instant::now();
        for _ in 0..100 {
            let response = gateway.send(with_key(model)).await;
            assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        }
        println!("{:?} for each request of {model}", began.elapsed() / 100);
    }
    let wrong = chat_request("r", false).replace("host:", "x-api-key: CANARY-wrong\r\nhost:");
    let response = gateway.send(wrong).await;
    assert!(response.starts_with("HTTP/1.1 401"), "{response}");
    let began = Instant::now();
    gateway.signal("HUP");
    gateway.log_until("configuration reloaded").await;
    println!("reloaded after {:?}", began.elapsed());
    assert!(!gateway.log().contains("CANARY"));
}
