//! The bound of the capture, and what it keeps alive.

use futures_util::FutureExt;
use proptest::prelude::*;

use super::*;

fn capture(most: u64) -> Arc<Capture> {
    let capture = Arc::<Capture>::default();
    capture.resize(most);
    capture
}

/// Keeps a body that is copied at once.
fn keep(capture: &Arc<Capture>, id: &str, body: &Bytes) -> Option<CaptureWriter> {
    let sent = SentRequest {
        id: id.into(),
        key: "laptop".into(),
        path: "/v1".to_owned(),
    };
    let kept = capture.keep(sent, body).now_or_never();
    kept.expect("a short body is copied at once")
}

/// The bytes that are counted; the buffers that are held are never more.
fn counted(capture: &Capture) -> usize {
    let ring = capture.ring();
    let (counted, weights) = ring.counted();
    assert_eq!(counted, weights);
    let held: usize = ring.kept().map(|kept| kept.buffers()).sum();
    assert!(held <= counted, "{held} bytes are held, {counted} counted");
    counted
}

proptest! {
    #[test]
    fn it_never_holds_more_than_its_limit_and_forgets_the_oldest(
        most in 0_u64..20_000,
        requests in proptest::collection::vec((0_usize..6_000, 0_usize..6_000), 0..20),
    ) {
        let capture = capture(most);
        let mut writers = Vec::new();
        for (number, (body, response)) in requests.iter().enumerate() {
            writers.extend(keep(&capture, &number.to_string(), &vec![1; *body].into()));
            for writer in &writers {
                writer.write(&vec![2; *response]);
                prop_assert!(counted(&capture) as u64 <= most);
            }
            if let Some(writer) = writers.get(number / 2) {
                writer.end();
                prop_assert!(counted(&capture) as u64 <= most);
            }
        }
        capture.resize(0);
        prop_assert_eq!(counted(&capture), 0);
    }
}

#[test]
fn a_request_is_found_with_what_its_client_received() {
    let capture = capture(1 << 20);
    let writer = keep(&capture, "a", &"{}".into()).unwrap();
    writer.begin(200, "text/event-stream");
    writer.write(b"data: 1\n\n");
    let found = capture.find("a").unwrap();
    assert_eq!((&*found.path, &*found.body), ("/v1", &b"{}"[..]));
    let received = found.received();
    assert_eq!(
        (received.status, &*received.bytes),
        (200, &b"data: 1\n\n"[..])
    );
    assert!(capture.find("b").is_none());
}

#[test]
fn a_part_of_a_larger_buffer_does_not_keep_the_buffer() {
    let capture = capture(1 << 20);
    let buffer = Bytes::from(vec![7; 100_000]);
    let part = buffer.slice(10..20);
    let _writer = keep(&capture, "a", &part).unwrap();
    drop(part);
    assert!(buffer.is_unique(), "only the part was copied");
    assert_eq!(*capture.find("a").unwrap().body, [7; 10]);
}

#[test]
fn a_response_takes_what_it_needs_once_it_is_over_and_no_more_than_the_longest() {
    let capture = capture(64 << 20);
    let writer = keep(&capture, "a", &"{}".into()).unwrap();
    let before = counted(&capture);
    for _ in 0..1_000 {
        writer.write(&[3; 1_000]);
    }
    writer.end();
    let response = counted(&capture) - before;
    assert!(
        (1_000_000..=allocated(1_000_000)).contains(&response),
        "{response}"
    );
    writer.write(&vec![4; 8 << 20]);
    let received = capture.find("a").unwrap().received();
    assert_eq!(
        (received.bytes.len(), received.cut),
        (LONGEST_RESPONSE, true)
    );
    assert!(counted(&capture) - before <= allocated(LONGEST_RESPONSE) + 8);
}

#[test]
fn room_that_is_reserved_and_not_used_is_given_back() {
    let capture = capture(100_000);
    let first = Reservation::new(&capture, 60_000);
    assert!(
        Reservation::new(&capture, 60_000).is_none(),
        "both do not fit"
    );
    drop(first);
    assert!(Reservation::new(&capture, 60_000).is_some());
    assert_eq!(counted(&capture), 0);
}

#[tokio::test]
async fn a_long_body_is_copied_with_pauses_and_whole() {
    let capture = capture(64 << 20);
    let body = Bytes::from((0..3 << 20).map(|byte| byte as u8).collect::<Vec<u8>>());
    let sent = |id: &str| SentRequest {
        id: id.into(),
        key: "laptop".into(),
        path: "/v1".to_owned(),
    };
    assert!(capture.keep(sent("left"), &body).now_or_never().is_none());
    assert_eq!(counted(&capture), 0, "a client that leaves holds nothing");
    capture.keep(sent("a"), &body).await.unwrap();
    assert_eq!(capture.find("a").unwrap().body, body);
}
