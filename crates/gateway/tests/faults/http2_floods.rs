//! HTTP/2 frame floods, and responses that are never read.

use std::time::Duration;

use majordomo_gateway::Limits;
use majordomo_testkit::{Script, Upstream, frames};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::test_gateway::{
    CLIENT_KEY, Client, EVENT, TEST_TIMEOUT, TestGateway, case, provider, standing_still,
};

const PATH: &str = "/v1/chat/completions";
/// Error code of a stream that was not processed (RFC 9113, section 7).
const REFUSED_STREAM: u32 = 7;

async fn connect(gateway: &TestGateway, settings: &[u8]) -> Client {
    let mut client = gateway.connect().await;
    client.send([frames::PREFACE, settings].concat()).await;
    client
}

fn post(stream: u32) -> Vec<u8> {
    frames::post(stream, PATH, CLIENT_KEY).to_vec()
}

fn request_for(stream: u32, model: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"model":"{model}","stream":true,"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    let data = frames::data(stream, body.as_bytes(), true);
    [post(stream), data.to_vec()].concat()
}

/// Client-initiated stream ids.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|n| 2 * n + 1)
}

/// The next frame: type, stream and payload.
async fn next(client: &mut Client) -> Option<(u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    client.stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    let mut payload = vec![0; length as usize];
    client.stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], stream, payload))
}

/// Sends the flood while reading, until the gateway closes.
async fn closed_after(client: &mut Client, flood: &[u8]) {
    let (mut reading, mut writing) = client.stream.split();
    let mut response = Vec::new();
    let ended = async {
        let write = tokio::io::AsyncWriteExt::write_all(&mut writing, flood);
        let read = reading.read_to_end(&mut response);
        // The close is an error to the writer and an end to the reader.
        let _ = tokio::join!(write, read);
    };
    timeout(TEST_TIMEOUT, ended).await.expect("it is closed");
}

#[test]
fn a_rapid_reset_flood_closes_the_connection() {
    case(async {
        let gateway = TestGateway::start("").await;
        let mut client = connect(&gateway, &frames::settings()).await;
        let flood: Vec<u8> = streams(10_000)
            .flat_map(|id| [post(id), frames::reset(id, 8).to_vec()].concat())
            .collect();
        closed_after(&mut client, &flood).await;
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn a_made_you_reset_flood_closes_the_connection() {
    let zero = |id| frames::window_update(id, 0).to_vec();
    let after_the_end = |id| frames::data(id, b"more", false).to_vec();
    for (ends, mistake) in [
        (false, &zero as &dyn Fn(u32) -> Vec<u8>),
        (true, &after_the_end),
    ] {
        case(async {
            let gateway = TestGateway::start("").await;
            let mut client = connect(&gateway, &frames::settings()).await;
            let flood: Vec<u8> = streams(10_000)
                .flat_map(|id| {
                    let head = if ends {
                        request_for(id, "none")
                    } else {
                        post(id)
                    };
                    [head, mistake(id)].concat()
                })
                .collect();
            closed_after(&mut client, &flood).await;
            gateway.assert_invariants(client).await;
        });
    }
}

#[test]
fn a_continuation_flood_closes_the_connection() {
    case(async {
        let gateway = TestGateway::start("").await;
        let mut client = connect(&gateway, &frames::settings()).await;
        let mut flood = frames::frame(frames::HEADERS, 0, 1, &[0x83, 0x86]).to_vec();
        // One header of 1 KiB per frame, 16 MiB in all.
        let mut header = vec![0x00, 0x01, b'a', 0x7f, 0x81, 0x07];
        header.extend([b'x'; 1_024]);
        for _ in 0..16 * 1_024 {
            flood.extend_from_slice(&frames::frame(frames::CONTINUATION, 0, 1, &header));
        }
        closed_after(&mut client, &flood).await;
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn an_hpack_bomb_is_rejected() {
    case(async {
        let gateway = TestGateway::start("").await;
        let mut client = connect(&gateway, &frames::settings()).await;
        let mut block = frames::post_block(PATH, CLIENT_KEY);
        // Indexed once (4,000 bytes), referenced 2,000 times.
        block.extend([0x40, 0x01, b'a', 0x7f, 0xa1, 0x1e]);
        block.extend([b'x'; 4_000]);
        block.extend([0xbe; 2_000]);
        let head = frames::frame(
            frames::HEADERS,
            frames::END_HEADERS | frames::END_STREAM,
            1,
            &block,
        );
        client.send(head).await;
        let refused = async {
            loop {
                match next(&mut client).await {
                    Some((frames::GOAWAY | frames::RST_STREAM, ..)) | None => return,
                    // A response is a rejection if its status is 431.
                    Some((frames::HEADERS, 1, head)) => {
                        let text = String::from_utf8_lossy(&head).into_owned();
                        return assert!(text.contains("431"), "{head:02x?}");
                    }
                    Some(_) => {}
                }
            }
        };
        timeout(TEST_TIMEOUT, refused).await.expect("it is refused");
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn a_flood_of_empty_data_frames_closes_the_connection() {
    case(async {
        let gateway = TestGateway::start("").await;
        let mut client = connect(&gateway, &frames::settings()).await;
        let mut flood = post(1);
        let empty = frames::data(1, b"", false);
        for _ in 0..1_000_000 {
            flood.extend_from_slice(&empty);
        }
        closed_after(&mut client, &flood).await;
        gateway.assert_invariants(client).await;
    });
}

#[test]
fn a_ping_or_settings_flood_that_is_never_read_hits_the_write_stall_timeout() {
    let ping = frames::frame(frames::PING, 0, 0, &[0; 8]);
    for flood in [ping, frames::settings()] {
        case(async {
            let mut limits = Limits::default();
            limits.write_stall = Duration::from_millis(100);
            let gateway = TestGateway::with("", limits).await;
            let mut client = connect(&gateway, &frames::settings()).await;
            let flood = flood.repeat(1_000);
            let ended = async {
                use tokio::io::AsyncWriteExt;
                while client.stream.write_all(&flood).await.is_ok() {}
            };
            timeout(TEST_TIMEOUT, ended).await.expect("it is closed");
            gateway.assert_invariants(client).await;
        });
    }
}

#[test]
fn the_101st_concurrent_stream_is_refused() {
    case(async {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let gateway = TestGateway::start(&provider(&upstream)).await;
        let mut client = connect(&gateway, &frames::settings()).await;
        let all: Vec<u8> = streams(101)
            .flat_map(|id| request_for(id, "up/m"))
            .collect();
        client.send(&all).await;
        let refused = async {
            loop {
                let (kind, stream, payload) = next(&mut client).await.expect("it is open");
                if kind == frames::RST_STREAM {
                    return (stream, payload);
                }
            }
        };
        let refused = timeout(TEST_TIMEOUT, refused)
            .await
            .expect("one is refused");
        assert_eq!(refused, (201, REFUSED_STREAM.to_be_bytes().to_vec()));
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 100")
            .await;
        gateway.assert_invariants((upstream, client)).await;
    });
}

fn impatient() -> Limits {
    let mut limits = Limits::default();
    limits.write_stall = Duration::from_millis(100);
    limits
}

#[test]
fn a_stream_whose_window_never_opens_is_reset_alone() {
    case(async {
        let chunk = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
        let upstream = Upstream::start([
            Script::new().read_request().stream_head().flood(chunk),
            Script::new().read_request().stall(),
        ])
        .await;
        let gateway = TestGateway::with(&provider(&upstream), impatient()).await;
        let mut client = connect(&gateway, &frames::window_settings(0)).await;
        client.send(request_for(1, "up/m")).await;
        upstream.wait_for_requests(1, TEST_TIMEOUT).await;
        client.send(request_for(3, "up/n")).await;
        upstream.wait_for_requests(2, TEST_TIMEOUT).await;
        upstream.closed(0, TEST_TIMEOUT).await;
        gateway
            .poll_operator_until("/metrics", "majordomo_open_requests 1")
            .await;
        assert_eq!(upstream.connections()[1].peer_closed, None);
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn an_http2_connection_that_is_never_read_is_closed() {
    case(async {
        let chunk = format!("{:x}\r\n{EVENT}\r\n", EVENT.len()).repeat(100);
        let upstream =
            Upstream::start([Script::new().read_request().stream_head().flood(chunk)]).await;
        let gateway = TestGateway::with(&provider(&upstream), impatient()).await;
        let mut client = connect(&gateway, &frames::window_settings(0x7fff_ffff)).await;
        client.send(frames::window_update(0, 0x7fff_0000)).await;
        client.send(request_for(1, "up/m")).await;
        upstream.closed(0, TEST_TIMEOUT).await;
        gateway.assert_invariants((upstream, client)).await;
    });
}

#[test]
fn a_stream_waiting_for_its_model_does_not_count_as_stalled() {
    case(async {
        let upstream = standing_still(1).await;
        let gateway = TestGateway::with(&provider(&upstream), impatient()).await;
        let mut client = connect(&gateway, &frames::settings()).await;
        client.send(request_for(1, "up/m")).await;
        let word = async {
            loop {
                let (kind, _, payload) = next(&mut client).await.expect("it is open");
                if kind == frames::DATA && String::from_utf8_lossy(&payload).contains("word") {
                    return;
                }
            }
        };
        timeout(TEST_TIMEOUT, word).await.expect("it begins");
        tokio::time::sleep(5 * impatient().write_stall).await;
        let metrics = gateway.get_operator("/metrics").await;
        assert!(metrics.contains("majordomo_open_streams 1"), "{metrics}");
        gateway.assert_invariants((upstream, client)).await;
    });
}
