//! Thousands of exchanges with an upstream that keeps dying leave nothing behind.
//!
//! Alone in its file: it counts what the whole process has open.

mod asking;

use std::time::Duration;

use asking::{SOON, config, post};
use majordomo_providers::transport::{Reply, Transport};
use majordomo_testkit::{Script, Upstream};

const EXCHANGES: usize = 2_000;

/// Open files of this process, where the system tells.
fn open_files() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count())
}

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

fn ways_to_die() -> Vec<Script> {
    let asked = || Script::new().read_request();
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
    vec![
        Script::new(),
        Script::new().reset(),
        asked(),
        asked().reset(),
        asked().send(cut),
        asked().send("nonsense\r\n\r\n"),
        asked().answer(500, "text/plain", "oops"),
        asked().answer(200, "text/plain", "fine"),
        asked().answer(200, "text/plain", "fine").times(3),
        asked().stream_head().chunk("a").reset(),
    ]
}

/// Asks once; reads a stream to its end or leaves it early.
async fn ask(transport: &Transport, uri: http::Uri, number: usize) -> bool {
    let Ok(Reply::Accepted(_, mut body)) = transport.stream(post(uri)).await else {
        return false;
    };
    let mut complete = !number.is_multiple_of(3);
    while complete && let Some(piece) = body.next().await {
        complete = piece.is_ok();
    }
    complete
}

#[tokio::test]
async fn a_dying_upstream_leaves_no_connection_task_or_file_behind() {
    let files = open_files();
    let tasks_before = tasks();
    let scripts = ways_to_die().into_iter().cycle().take(EXCHANGES);
    let upstream = Upstream::start(scripts).await;
    let transport = Transport::new(config().idle_connections(16, Duration::from_secs(1)));
    let mut fine = 0;
    for round in 0..EXCHANGES / 20 {
        let mut asking = tokio::task::JoinSet::new();
        for number in 0..20 {
            let (transport, uri) = (transport.clone(), upstream.uri("/"));
            asking.spawn(async move { ask(&transport, uri, round + number).await });
        }
        fine += asking.join_all().await.into_iter().filter(|it| *it).count();
    }
    assert!(fine > EXCHANGES / 10, "{fine}");
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
