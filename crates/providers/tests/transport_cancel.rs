//! Leaving: whenever a call or stream is dropped, the upstream sees it at once.

mod asking;

use std::pin::pin;

use asking::{AT_ONCE, SOON, config, post, stream, transport};
use majordomo_providers::transport::{Outgoing, Protocol, Transport};
use majordomo_testkit::{Authority, Http2Settings, Http2Upstream, Script, StreamStep, Upstream};

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
async fn during_the_tls_handshake() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let transport = transport();
    let call = transport.whole(post(upstream.secure_uri("/")));
    leave(call, upstream.connected(0, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn while_the_request_is_being_sent() {
    let upstream = Upstream::start([Script::new().read_head().stall()]).await;
    let transport = transport();
    let request = Outgoing::post(upstream.uri("/"), vec![0u8; 40 * 1024 * 1024]);
    leave(transport.whole(request), upstream.asked(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn while_the_head_is_awaited() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let transport = transport();
    let call = transport.stream(post(upstream.uri("/")));
    leave(call, upstream.asked(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn while_a_whole_answer_is_awaited() {
    let script = Script::new().read_request();
    let script = script.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{");
    let upstream = Upstream::start([script.stall()]).await;
    let transport = transport();
    let call = transport.whole(post(upstream.uri("/")));
    leave(call, upstream.asked(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn while_the_first_byte_is_awaited() {
    let script = Script::new().read_request().stream_head().stall();
    let upstream = Upstream::start([script]).await;
    let stream = stream(&transport(), post(upstream.uri("/"))).await;
    drop(stream);
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn in_the_middle_of_a_stream() {
    let script = Script::new().read_request().stream_head().chunk("a");
    let upstream = Upstream::start([script.stall()]).await;
    let stream = stream(&transport(), post(upstream.uri("/"))).await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "a");
    drop(stream);
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn in_the_middle_of_a_secure_stream() {
    let authority = Authority::new();
    let script = Script::new().start_tls(&authority.issue("localhost"));
    let script = script.read_request().stream_head().chunk("a").stall();
    let upstream = Upstream::start([script]).await;
    let transport = Transport::new(config().trust(authority.root()));
    let stream = stream(&transport, post(upstream.secure_uri("/"))).await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "a");
    drop(stream);
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn with_http2_the_stream_is_reset_and_its_neighbour_lives() {
    let upstream = Http2Upstream::start(
        Http2Settings::default(),
        [
            vec![StreamStep::Head(200), StreamStep::Stall],
            vec![StreamStep::Stall],
            vec![
                StreamStep::Head(200),
                StreamStep::Data("b".into()),
                StreamStep::End,
            ],
        ],
    )
    .await;
    let transport = Transport::new(config().protocol(Protocol::Http2));

    let open = stream(&transport, post(upstream.uri("/"))).await.unwrap();
    let call = transport.stream(post(upstream.uri("/")));
    leave(call, upstream.asked(2, SOON)).await;
    upstream.closed(0, AT_ONCE).await;

    let neighbour = stream(&transport, post(upstream.uri("/"))).await.unwrap();
    drop(open);
    assert_eq!(asking::drain(neighbour).await.0, b"b");
    assert_eq!(upstream.connections().len(), 1);
}
