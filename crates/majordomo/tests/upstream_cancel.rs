//! Leaving: whenever a chain's call or stream is dropped, the upstream sees it
//! within 100 ms, and nobody is blamed.

use std::pin::pin;
use std::time::Duration;

use majordomo::fake::Fake;
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{ProviderKind, Registry, Request, Settings, StreamItem};
use majordomo_testkit::{Script, Upstream};

/// How soon an upstream must see that we have left.
const AT_ONCE: Duration = Duration::from_millis(100);
/// Long enough for a busy machine, short enough for a test.
const SOON: Duration = Duration::from_secs(5);

/// A registry with `head` at this address and a `tail` that must not be asked.
struct House {
    registry: Registry,
    tail: Fake,
}

impl House {
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
        self.registry.parse("head/m,tail/m").expect("a good spec")
    }

    fn assert_nobody_is_blamed(&self) {
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
async fn leave<T>(call: impl Future<Output = T>, reached: impl Future<Output = ()>) {
    let mut call = pin!(call);
    tokio::select! {
        biased;
        _ = call.as_mut() => panic!("the call must not come back"),
        () = reached => {}
    }
}

#[tokio::test]
async fn during_the_connect() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let house = House::new(ProviderKind::OpenAi, upstream.secure_uri(""));
    let chain = house.chain();
    let call = chain.generate(Request::user("hi"));
    leave(call, upstream.connected(0, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
    house.assert_nobody_is_blamed();
}

#[tokio::test]
async fn while_the_request_is_being_sent() {
    let upstream = Upstream::start([Script::new().read_head().stall()]).await;
    let house = House::new(ProviderKind::OpenAi, upstream.uri(""));
    let chain = house.chain();
    let call = chain.generate(Request::user("word ".repeat(4 << 20)));
    leave(call, upstream.asked(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
    house.assert_nobody_is_blamed();
}

#[tokio::test]
async fn while_the_head_is_awaited() {
    for kind in ProviderKind::ALL {
        let upstream = Upstream::start([Script::new().read_request().stall()]).await;
        let house = House::new(kind, upstream.uri(""));
        let chain = house.chain();
        leave(chain.generate(Request::user("hi")), upstream.asked(1, SOON)).await;
        upstream.closed(0, AT_ONCE).await;
        house.assert_nobody_is_blamed();
    }
}

#[tokio::test]
async fn while_the_first_event_is_awaited() {
    for kind in ProviderKind::ALL {
        let script = Script::new().read_request().stream_head();
        let upstream = Upstream::start([script.stall()]).await;
        let house = House::new(kind, upstream.uri(""));
        let chain = house.chain();
        leave(chain.stream(Request::user("hi")), upstream.asked(1, SOON)).await;
        upstream.closed(0, AT_ONCE).await;
        house.assert_nobody_is_blamed();
    }
}

#[tokio::test]
async fn in_the_middle_of_a_stream() {
    let chunk =
        "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    let line =
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"},\"done\":false}\n";
    for (kind, beginning) in [(ProviderKind::OpenAi, chunk), (ProviderKind::Ollama, line)] {
        let script = Script::new().read_request().stream_head().chunk(beginning);
        let upstream = Upstream::start([script.stall()]).await;
        let house = House::new(kind, upstream.uri(""));
        let mut stream = house.chain().stream(Request::user("hi")).await.unwrap();
        let first = stream.next().await.unwrap().unwrap();
        assert_eq!(first, StreamItem::Text("a".into()));
        drop(stream);
        upstream.closed(0, AT_ONCE).await;
        house.assert_nobody_is_blamed();
    }
}

#[tokio::test]
async fn when_the_deadline_ends_the_call() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let house = House::new(ProviderKind::OpenAi, upstream.uri(""));
    let hurried = Request::user("hi").timeout(Duration::from_millis(300));
    let error = house.chain().generate(hurried).await.unwrap_err();
    assert_eq!(error.kind(), majordomo::ErrorKind::Deadline);
    upstream.closed(0, AT_ONCE).await;
    house.assert_nobody_is_blamed();
}
