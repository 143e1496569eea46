//! The same gateway over HTTP/2, without TLS.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use majordomo_gateway::Limits;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::test_gateway::{TEST_TIMEOUT, TestGateway, case, provider, standing_still};

type Sender = SendRequest<Full<Bytes>>;

async fn connect(gateway: &TestGateway) -> (Sender, JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(gateway.address)
        .await
        .expect("it listens");
    let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = made.expect("it speaks HTTP/2");
    (sender, tokio::spawn(connection))
}

fn request_for(path: &str, body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::builder().method("POST");
    let request = request.uri(format!("http://localhost{path}"));
    request
        .body(Full::from(body))
        .expect("a request can be made")
}

const CHAT_BODY: &str = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn requests_share_a_connection_and_an_idle_one_is_closed() {
    case(async {
        let mut limits = Limits::default();
        limits.idle = Duration::from_millis(200);
        let gateway = TestGateway::with("", limits).await;
        let (mut sender, connection) = connect(&gateway).await;
        for _ in 0..3 {
            let sent = sender.send_request(request_for("/v1/chat/completions", CHAT_BODY));
            let response = sent.await.expect("it responds");
            assert_eq!(response.status(), StatusCode::OK);
            let body = response.into_body().collect().await;
            assert!(!body.expect("it is whole").to_bytes().is_empty());
        }
        let closed = timeout(TEST_TIMEOUT, connection).await;
        closed
            .expect("an idle connection is closed")
            .expect("it ends")
            .expect("in peace");
        gateway.assert_invariants(sender).await;
    });
}

#[test]
fn a_stream_cut_by_the_gateway_carries_the_reason() {
    case(async {
        let upstream = standing_still(1).await;
        let config = format!("[server]\ndrain = \"100ms\"\n{}", provider(&upstream));
        let mut gateway = TestGateway::start(&config).await;
        let (mut sender, _connection) = connect(&gateway).await;
        let body = r#"{"model":"up/m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
        let sent = sender.send_request(request_for("/v1/chat/completions", body));
        let mut response = sent.await.expect("it responds").into_body();
        let first = response
            .frame()
            .await
            .expect("it begins")
            .expect("it begins");
        assert!(first.is_data());
        gateway.stop();
        let mut rest = Vec::new();
        while let Ok(Some(Ok(frame))) = timeout(TEST_TIMEOUT, response.frame()).await {
            rest.extend(frame.into_data().unwrap_or_default());
        }
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.contains("server_shutdown"), "{rest}");
        gateway.stopped().await;
        gateway
            .assert_invariants((upstream, sender, _connection))
            .await;
    });
}
