//! Ten thousand requests through a chain whose head keeps failing leak nothing.
//!
//! A separate binary, because it measures memory, tasks and files of the whole process.

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use cap::Cap;
use majordomo::fake::Fake;
use majordomo::health::HealthConfig;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Chain, Registry, Request};
use majordomo_testkit::{Script, Upstream};

const REQUESTS: usize = 10_000;
const PHASE: usize = 1_000;
/// Concurrent requests.
const CONCURRENCY: usize = 25;
const SOON: Duration = Duration::from_secs(10);

const HELLO: &str = r#"{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
const CHUNK: &str =
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";

/// Counts allocated bytes.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Open files of this process, if the system reports them.
fn open_files() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

fn failures() -> Vec<Script> {
    let request_read = || Script::new().read_request();
    vec![
        Script::new(),
        Script::new().reset(),
        request_read(),
        request_read().reset(),
        request_read().send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
        request_read().send("nonsense\r\n\r\n"),
        request_read().respond(500, "application/json", "{}"),
        request_read()
            .respond(200, "application/json", HELLO)
            .times(3),
        request_read().stream_head().chunk(CHUNK).reset(),
        request_read().stream_head().chunk(CHUNK).last_chunk(),
    ]
}

/// Sends one request: for a whole response, a stream read to its end, or a stream dropped
/// early.
async fn send(chain: &Chain, number: usize) -> bool {
    let request = Request::user("hi");
    match number % 3 {
        0 => chain.generate(request).await.is_ok(),
        1 => match chain.stream(request).await {
            Ok(stream) => stream.finish().await.is_ok(),
            Err(_) => false,
        },
        _ => match chain.stream(request).await {
            Ok(mut stream) => stream.next().await.is_some_and(|item| item.is_ok()),
            Err(_) => false,
        },
    }
}

/// Waits until at most this many tasks and files remain.
async fn settle(most_tasks: usize, most_files: Option<usize>) {
    let settled = async {
        while tasks() > most_tasks || (most_files.is_some() && open_files() > most_files) {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        tokio::time::timeout(SOON, settled).await.is_ok(),
        "{} tasks of {most_tasks}, {:?} files of {most_files:?} are left",
        tasks(),
        open_files()
    );
}

/// Sends the requests of a phase; returns how many were served.
async fn send_all(chain: &Arc<Chain>) -> usize {
    let mut served = 0;
    for round in 0..PHASE / CONCURRENCY {
        let mut in_flight = tokio::task::JoinSet::new();
        for number in 0..CONCURRENCY {
            let chain = Arc::clone(chain);
            in_flight.spawn(async move { send(&chain, round + number).await });
        }
        served += in_flight
            .join_all()
            .await
            .into_iter()
            .filter(|it| *it)
            .count();
    }
    served
}

/// A registry whose head is never benched, so that every request calls it.
fn registry() -> Registry {
    let health = HealthConfig::default().with_threshold(u32::MAX);
    Registry::builder()
        .environment(Default::default())
        .health(health)
        .build()
}

#[tokio::test]
async fn a_failing_head_leaks_no_connection_task_file_or_memory() {
    let (files, tasks_before) = (open_files(), tasks());
    let config = TransportConfig::default().proxies(Proxies::Direct);
    let transport = Transport::new(config.idle_connections(16, Duration::from_secs(1)));
    let (registry, tail) = (registry(), Fake::new("tail"));
    registry.register(tail.clone());
    let mut memory = Vec::new();
    for _ in 0..REQUESTS / PHASE {
        // A new upstream each time, to drop the record of the old one.
        let upstream = Upstream::start(failures().into_iter().cycle().take(3 * PHASE)).await;
        let settings = Settings::new("head", transport.clone())
            .base_url(upstream.uri("").to_string())
            .key(Some("canary".to_owned().into()));
        registry.register(ProviderKind::OpenAi.provider(settings).unwrap());
        let chain = Arc::new(registry.model("head/m,tail/m").unwrap());
        let served = send_all(&chain).await;
        assert!(served > PHASE / 2, "{served}");
        assert!(upstream.requests().len() > PHASE / 2, "the head was called");
        drop((upstream, chain));
        tail.forget_calls();
        settle(tasks_before, None).await;
        memory.push(ALLOCATOR.allocated() / 1_024);
    }
    drop((registry, transport, tail));
    settle(tasks_before, files).await;
    let [_, warm, .., last] = memory[..] else {
        panic!("too few phases: {memory:?}");
    };
    assert!(last <= warm + 256, "KiB after each phase: {memory:?}");
}
