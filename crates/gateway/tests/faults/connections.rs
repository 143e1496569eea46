//! Connections that are slow, silent, idle or too many.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{Script, Upstream};

use crate::test_gateway::{EVENT, TEST_TIMEOUT, TestGateway, case, chat_request, provider};

const SHORT: Duration = Duration::from_millis(100);

fn limits(set: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits);
    limits
}

#[test]
fn a_silent_connection_is_closed() {
    case(async {
        let gateway = TestGateway::with("", limits(|l| l.first_byte = SHORT)).await;
        assert_eq!(gateway.raw("").await, "");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn an_incomplete_request_head_times_out() {
    case(async {
        let gateway = TestGateway::with("", limits(|l| l.header = SHORT)).await;
        assert_eq!(gateway.raw("GET /healthz HTTP/1.1\r\nho").await, "");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_body_below_the_minimum_rate_gets_a_408() {
    case(async {
        let gateway = TestGateway::with("", limits(|l| l.body_window = SHORT)).await;
        let head =
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000\r\n\r\n{";
        let response = gateway.raw(head).await;
        assert!(response.starts_with("HTTP/1.1 408"), "{response}");
        assert!(response.contains(r#""type":"error""#), "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_client_that_stops_reading_is_disconnected_with_its_upstream() {
    case(async {
        let length = EVENT.len();
        let chunk = format!("{length:x}\r\n{EVENT}\r\n").repeat(100);
        let script = Script::new().read_request().stream_head().flood(chunk);
        let upstream = Upstream::start([script]).await;
        let gateway =
            TestGateway::with(&provider(&upstream), limits(|l| l.write_stall = SHORT)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
        client.until("word").await;
        // The client keeps its socket open and stops reading.
        upstream.closed(0, TEST_TIMEOUT).await;
        gateway
            .poll_operator_until("/metrics", "majordomo_open_streams 0")
            .await;
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn an_idle_keep_alive_connection_is_closed() {
    case(async {
        let gateway = TestGateway::with("", limits(|l| l.idle = SHORT)).await;
        let response = gateway
            .raw("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert!(response.ends_with("ok\n"), "{response}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn connections_beyond_the_limit_wait_until_another_closes() {
    case(async {
        let gateway = TestGateway::with("", limits(|l| l.connections = 1)).await;
        let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let mut first = gateway.connect().await;
        first.send(request).await;
        first.until("ok\n").await;
        let mut second = gateway.connect().await;
        second.send(request).await;
        first.send(request).await;
        first.until("ok\n").await;
        let mut space = [0];
        assert!(second.stream.try_read(&mut space).is_err(), "it was served");
        drop(first);
        second.until("ok\n").await;
        gateway.assert_invariants(second).await;
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
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = gateway.connect().await;
        client.send(chat_request("up/m", true)).await;
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
        let went_on = tokio::time::timeout(TEST_TIMEOUT, going_on).await;
        assert!(went_on.is_ok(), "it stands still");
        gateway.assert_invariants((upstream, client)).await;
    });
}
