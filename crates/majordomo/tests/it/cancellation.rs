//! Cancellation: when a call or a stream is dropped, the upstream sees the connection close
//! within 100 ms, and no target is penalized.

use std::pin::pin;
use std::time::Duration;

use majordomo::fake::Fake;
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Registry, Request, StreamItem};
use majordomo_testkit::{Script, Upstream};

/// How soon an upstream must see the close.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Long enough for a busy machine, short enough for a test.
const SOON: Duration = Duration::from_secs(5);

/// A registry with `head` at this address and a `tail` that must not be called.
struct Fixture {
    registry: Registry,
    tail: Fake,
}

impl Fixture {
    fn new(kind: ProviderKind, url: impl ToString) -> Self {
        let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
        let settings = Settings::new("head", transport)
            .base_url(url.to_string())
            .key(Some("canary".to_owned().into()));
        let registry = Registry::empty();
        registry.register(kind.provider(settings).expect("the address of a test"));
        let tail = Fake::new("tail");
        registry.register(tail.clone());
        Self { registry, tail }
    }

    fn chain(&self) -> majordomo::Chain {
        self.registry.model("head/m,tail/m").expect("a good spec")
    }

    fn assert_no_penalty(&self) {
        assert_eq!(self.tail.call_count("m"), 0);
        for status in self.registry.health().snapshot() {
            assert_eq!(
                (status.failures, status.until_usable),
                (0, None),
                "{status:?}"
            );
            assert!(!status.probing, "{status:?}");
        }
    }
}

/// Polls a call until `reached`, then drops it.
async fn drop_when<T>(call: impl Future<Output = T>, reached: impl Future<Output = ()>) {
    let mut call = pin!(call);
    tokio::select! {
        biased;
        _ = call.as_mut() => panic!("the call must not come back"),
        () = reached => {}
    }
}

#[tokio::test]
async fn cancelling_during_the_connect_closes_the_connection() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let fixture = Fixture::new(ProviderKind::OpenAi, upstream.secure_uri(""));
    let chain = fixture.chain();
    let call = chain.generate(Request::user("hi"));
    drop_when(call, upstream.connected(0, SOON)).await;
    upstream.closed(0, CLOSE_TIMEOUT).await;
    fixture.assert_no_penalty();
}

#[tokio::test]
async fn cancelling_while_the_request_is_sent_closes_the_connection() {
    let upstream = Upstream::start([Script::new().read_head().stall()]).await;
    let fixture = Fixture::new(ProviderKind::OpenAi, upstream.uri(""));
    let chain = fixture.chain();
    let call = chain.generate(Request::user("word ".repeat(4 << 20)));
    drop_when(call, upstream.wait_for_requests(1, SOON)).await;
    upstream.closed(0, CLOSE_TIMEOUT).await;
    fixture.assert_no_penalty();
}

#[tokio::test]
async fn cancelling_before_the_response_header_closes_the_connection() {
    for kind in ProviderKind::ALL {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let fixture = Fixture::new(kind, upstream.uri(""));
        let chain = fixture.chain();
        drop_when(
            chain.generate(Request::user("hi")),
            upstream.wait_for_requests(1, SOON),
        )
        .await;
        upstream.closed(0, CLOSE_TIMEOUT).await;
        fixture.assert_no_penalty();
    }
}

#[tokio::test]
async fn cancelling_before_the_first_event_closes_the_connection() {
    for kind in ProviderKind::ALL {
        let script = Script::new().read_request().stream_head();
        let upstream = Upstream::start([script.stall()]).await;
        let fixture = Fixture::new(kind, upstream.uri(""));
        let chain = fixture.chain();
        drop_when(
            chain.stream(Request::user("hi")),
            upstream.wait_for_requests(1, SOON),
        )
        .await;
        upstream.closed(0, CLOSE_TIMEOUT).await;
        fixture.assert_no_penalty();
    }
}

#[tokio::test]
async fn dropping_a_stream_closes_the_connection() {
    let chunk =
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    let line =
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"},\"done\":false}\n";
    for (kind, beginning) in [(ProviderKind::OpenAi, chunk), (ProviderKind::Ollama, line)] {
        let script = Script::new().read_request().stream_head().chunk(beginning);
        let upstream = Upstream::start([script.stall()]).await;
        let fixture = Fixture::new(kind, upstream.uri(""));
        let mut stream = fixture.chain().stream(Request::user("hi")).await.unwrap();
        let first = stream.next().await.unwrap().unwrap();
        assert_eq!(first, StreamItem::Text("a".into()));
        drop(stream);
        upstream.closed(0, CLOSE_TIMEOUT).await;
        fixture.assert_no_penalty();
    }
}

#[tokio::test]
async fn a_deadline_closes_the_connection() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let fixture = Fixture::new(ProviderKind::OpenAi, upstream.uri(""));
    let limited = Request::user("hi").timeout(Duration::from_millis(300));
    let error = fixture.chain().generate(limited).await.unwrap_err();
    assert_eq!(error.kind(), majordomo::ErrorKind::Deadline);
    upstream.closed(0, CLOSE_TIMEOUT).await;
    fixture.assert_no_penalty();
}
