//! Dropping a call or stream closes its connection or resets its HTTP/2 stream
//! immediately.

use std::pin::pin;

use crate::support::{AT_ONCE, SOON, config, post, send_streaming, transport};
use majordomo_providers::transport::{HttpVersions, Transport, TransportRequest};
use majordomo_testkit::{Authority, Http2Settings, Http2Upstream, Script, StreamStep, Upstream};

/// Polls a call until `reached`, then drops it.
async fn cancel_when<T>(call: impl Future<Output = T>, reached: impl Future<Output = ()>) {
    let mut call = pin!(call);
    tokio::select! {
        biased;
        _ = call.as_mut() => panic!("the call must not return"),
        () = reached => {}
    }
}

#[tokio::test]
async fn cancelling_during_the_tls_handshake_closes_the_connection() {
    let upstream = Upstream::start([Script::new().stall()]).await;
    let transport = transport();
    let call = transport.send(post(upstream.secure_uri("/")));
    cancel_when(call, upstream.connected(0, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn cancelling_during_the_upload_closes_the_connection() {
    let upstream = Upstream::start([Script::new().read_head().stall()]).await;
    let transport = transport();
    let request = TransportRequest::post(upstream.uri("/"), vec![0u8; 40 * 1024 * 1024]);
    cancel_when(transport.send(request), upstream.wait_for_requests(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn cancelling_before_the_response_head_closes_the_connection() {
    let upstream = Upstream::start([Script::new().read_request().stall()]).await;
    let transport = transport();
    let call = transport.stream(post(upstream.uri("/")));
    cancel_when(call, upstream.wait_for_requests(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn cancelling_in_the_middle_of_a_buffered_response_closes_the_connection() {
    let script = Script::new().read_request();
    let script = script.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{");
    let upstream = Upstream::start([script.stall()]).await;
    let transport = transport();
    let call = transport.send(post(upstream.uri("/")));
    cancel_when(call, upstream.wait_for_requests(1, SOON)).await;
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn dropping_a_stream_before_its_first_byte_closes_the_connection() {
    let script = Script::new().read_request().stream_head().stall();
    let upstream = Upstream::start([script]).await;
    let stream = send_streaming(&transport(), post(upstream.uri("/"))).await;
    drop(stream);
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn dropping_a_stream_in_the_middle_closes_the_connection() {
    let script = Script::new().read_request().stream_head().chunk("a");
    let upstream = Upstream::start([script.stall()]).await;
    let stream = send_streaming(&transport(), post(upstream.uri("/"))).await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "a");
    drop(stream);
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn dropping_a_tls_stream_in_the_middle_closes_the_connection() {
    let authority = Authority::new();
    let script = Script::new().start_tls(&authority.issue("localhost"));
    let script = script.read_request().stream_head().chunk("a").stall();
    let upstream = Upstream::start([script]).await;
    let transport = Transport::new(config().trust(authority.root()));
    let stream = send_streaming(&transport, post(upstream.secure_uri("/"))).await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "a");
    drop(stream);
    upstream.closed(0, AT_ONCE).await;
}

#[tokio::test]
async fn dropping_an_http2_call_resets_only_its_own_stream() {
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
    let transport = Transport::new(config().http_versions(HttpVersions::Http2));

    let open = send_streaming(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    let call = transport.stream(post(upstream.uri("/")));
    cancel_when(call, upstream.wait_for_requests(2, SOON)).await;
    upstream.closed(0, AT_ONCE).await;

    let neighbour = send_streaming(&transport, post(upstream.uri("/")))
        .await
        .unwrap();
    drop(open);
    assert_eq!(crate::support::drain(neighbour).await.0, b"b");
    assert_eq!(upstream.connections().len(), 1);
}
