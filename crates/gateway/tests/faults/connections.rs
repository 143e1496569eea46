//! Connections that are slow, silent, idle or too many.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{Script, Upstream};

use crate::stage::{EVENT, FOREVER, Stage, ask, case, provider};

const SHORT: Duration = Duration::from_millis(100);

fn limits(set: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits);
    limits
}

#[test]
fn a_silent_connection_is_closed() {
    case(async {
        let stage = Stage::with("", limits(|l| l.first_byte = SHORT)).await;
        assert_eq!(stage.raw("").await, "");
        stage.holds(()).await;
    });
}

#[test]
fn an_incomplete_request_head_times_out() {
    case(async {
        let stage = Stage::with("", limits(|l| l.header = SHORT)).await;
        assert_eq!(stage.raw("GET /healthz HTTP/1.1\r\nho").await, "");
        stage.holds(()).await;
    });
}

#[test]
fn a_body_below_the_minimum_rate_gets_a_408() {
    case(async {
        let stage = Stage::with("", limits(|l| l.body_window = SHORT)).await;
        let head =
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000\r\n\r\n{";
        let answer = stage.raw(head).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(answer.contains(r#""type":"error""#), "{answer}");
        stage.holds(()).await;
    });
}

#[test]
fn a_client_that_stops_reading_is_disconnected_with_its_upstream() {
    case(async {
        let length = EVENT.len();
        let chunk = format!("{length:x}\r\n{EVENT}\r\n").repeat(100);
        let script = Script::new().read_request().stream_head().flood(chunk);
        let upstream = Upstream::start([script]).await;
        let stage = Stage::with(&provider(&upstream), limits(|l| l.write_stall = SHORT)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        client.until("word").await;
        // The client keeps its socket open and stops reading.
        upstream.closed(0, FOREVER).await;
        stage
            .look_until("/metrics", "majordomo_open_streams 0")
            .await;
        stage.holds((upstream, client)).await;
    });
}

#[test]
fn an_idle_keep_alive_connection_is_closed() {
    case(async {
        let stage = Stage::with("", limits(|l| l.idle = SHORT)).await;
        let answer = stage
            .raw("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("ok\n"), "{answer}");
        stage.holds(()).await;
    });
}

#[test]
fn connections_beyond_the_limit_wait_until_another_closes() {
    case(async {
        let stage = Stage::with("", limits(|l| l.connections = 1)).await;
        let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let mut first = stage.connect().await;
        first.send(request).await;
        first.until("ok\n").await;
        let mut second = stage.connect().await;
        second.send(request).await;
        first.send(request).await;
        first.until("ok\n").await;
        let mut space = [0];
        assert!(second.stream.try_read(&mut space).is_err(), "it was served");
        drop(first);
        second.until("ok\n").await;
        stage.holds(second).await;
    });
}

/// Upper bound on the kernel's send and receive buffers of one connection.
#[cfg(target_os = "linux")]
fn kernel_buffers() -> usize {
    let most = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
        let text = text.expect("a readable sysctl");
        let last = text.split_whitespace().last().map(str::to_owned);
        last.and_then(|n| n.parse::<usize>().ok())
            .expect("a number")
    };
    most("tcp_rmem") + most("tcp_wmem")
}

#[cfg(target_os = "linux")]
#[test]
fn a_slow_reader_applies_backpressure_to_the_upstream() {
    case(async {
        let chunk = format!("{:x}\r\n{EVENT}\r\n", EVENT.len()).repeat(100);
        let script = Script::new().read_request().stream_head().flood(chunk);
        let upstream = Upstream::start([script]).await;
        let stage = Stage::start(&provider(&upstream)).await;
        let mut client = stage.connect().await;
        client.send(ask("up/m", true)).await;
        client.until("word").await;
        // Kernel buffers of two connections, plus the gateway's own.
        let bound = 2 * kernel_buffers() + 64 * 1024;
        let sent = || upstream.connections()[0].bytes_sent;
        let mut before = 0;
        // Wait until nothing more fits.
        while before != sent() {
            before = sent();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(before <= bound, "{before} bytes are more than {bound}");
        // Reading again lets the upstream continue.
        let mut space = vec![0; 1 << 20];
        let going_on = async {
            while sent() == before {
                let read = tokio::io::AsyncReadExt::read(&mut client.stream, &mut space).await;
                assert!(read.expect("it is open") > 0);
            }
        };
        let went_on = tokio::time::timeout(FOREVER, going_on).await;
        assert!(went_on.is_ok(), "it stands still");
        stage.holds((upstream, client)).await;
    });
}
