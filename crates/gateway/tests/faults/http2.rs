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

use crate::stage::{FOREVER, Stage, case, provider, standing_still};

type Sender = SendRequest<Full<Bytes>>;

async fn connect(stage: &Stage) -> (Sender, JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(stage.address).await.expect("it listens");
    let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = made.expect("it speaks HTTP/2");
    (sender, tokio::spawn(connection))
}

fn question(path: &str, body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::builder().method("POST");
    let request = request.uri(format!("http://localhost{path}"));
    request
        .body(Full::from(body))
        .expect("a request can be made")
}

const ASK: &str = r#"{"model":"demo/text","messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn requests_share_a_connection_and_an_idle_one_is_closed() {
    case(async {
        let mut limits = Limits::default();
        limits.idle = Duration::from_millis(200);
        let stage = Stage::with("", limits).await;
        let (mut sender, connection) = connect(&stage).await;
        for _ in 0..3 {
            let sent = sender.send_request(question("/v1/chat/completions", ASK));
            let answer = sent.await.expect("it answers");
            assert_eq!(answer.status(), StatusCode::OK);
            let body = answer.into_body().collect().await;
            assert!(!body.expect("it is whole").to_bytes().is_empty());
        }
        let closed = timeout(FOREVER, connection).await;
        closed
            .expect("an idle connection is closed")
            .expect("it ends")
            .expect("in peace");
        stage.holds(sender).await;
    });
}

#[test]
fn a_stream_cut_by_the_gateway_carries_the_reason() {
    case(async {
        let upstream = standing_still(1).await;
        let config = format!("[server]\ndrain = \"100ms\"\n{}", provider(&upstream));
        let mut stage = Stage::start(&config).await;
        let (mut sender, _connection) = connect(&stage).await;
        let body = r#"{"model":"up/m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
        let sent = sender.send_request(question("/v1/chat/completions", body));
        let mut answer = sent.await.expect("it answers").into_body();
        let first = answer.frame().await.expect("it begins").expect("it begins");
        assert!(first.is_data());
        stage.stop();
        let mut rest = Vec::new();
        while let Ok(Some(Ok(frame))) = timeout(FOREVER, answer.frame()).await {
            rest.extend(frame.into_data().unwrap_or_default());
        }
        let rest = String::from_utf8_lossy(&rest);
        assert!(rest.contains("server_shutdown"), "{rest}");
        stage.stopped().await;
        stage.holds((upstream, sender, _connection)).await;
    });
}
