//! Thousands of failing exchanges leak no connections, tasks or file descriptors.
//!
//! Its own binary, because it counts the open files of the whole process.

#[path = "it/support.rs"]
mod support;

use std::time::Duration;

use majordomo_providers::transport::{Transport, TransportResponse};
use majordomo_testkit::{Script, Upstream};
use support::{SOON, config, post};

const EXCHANGES: usize = 2_000;

/// Open files of this process, on systems with `/proc`.
fn open_files() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

fn failure_scripts() -> Vec<Script> {
    let read = || Script::new().read_request();
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
    vec![
        Script::new(),
        Script::new().reset(),
        read(),
        read().reset(),
        read().send(cut),
        read().send("nonsense\r\n\r\n"),
        read().respond(500, "text/plain", "oops"),
        read().respond(200, "text/plain", "fine"),
        read().respond(200, "text/plain", "fine").times(3),
        read().stream_head().chunk("a").reset(),
    ]
}

/// Sends one request; reads the stream to its end or drops it early.
async fn exchange(transport: &Transport, uri: http::Uri, number: usize) -> bool {
    let Ok(TransportResponse::Success(_, mut body)) = transport.stream(post(uri)).await else {
        return false;
    };
    let mut complete = !number.is_multiple_of(3);
    while complete && let Some(chunk) = body.next().await {
        complete = chunk.is_ok();
    }
    complete
}

#[tokio::test]
async fn a_failing_upstream_leaks_no_connection_task_or_file() {
    let files = open_files();
    let tasks_before = tasks();
    let scripts = failure_scripts().into_iter().cycle().take(EXCHANGES);
    let upstream = Upstream::start(scripts).await;
    let transport = Transport::new(config().idle_connections(16, Duration::from_secs(1)));
    let mut succeeded = 0;
    for round in 0..EXCHANGES / 20 {
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..20 {
            let (transport, uri) = (transport.clone(), upstream.uri("/"));
            calls.spawn(async move { exchange(&transport, uri, round + number).await });
        }
        succeeded += calls.join_all().await.into_iter().filter(|it| *it).count();
    }
    assert!(succeeded > EXCHANGES / 10, "{succeeded}");
    drop((transport, upstream));
    let gone = async {
        while tasks() > tasks_before || open_files() > files {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(SOON, gone).await;
    assert!(
        gone.is_ok(),
        "{} tasks (before: {tasks_before}), {:?} files (before: {files:?})",
        tasks(),
        open_files()
    );
}
