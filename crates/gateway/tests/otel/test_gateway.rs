//! Test gateway whose environment names a collector.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use majordomo_gateway::{Gateway, ServeOptions};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::collector::{Collector, ReceivedSpan};

/// A running gateway.
pub(crate) struct TestGateway {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

/// Names and values.
pub(crate) type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Status and body of a response; the body may be truncated.
pub(crate) type Answer = (StatusCode, Bytes);

impl TestGateway {
    /// Starts a gateway with this configuration and environment.
    pub(crate) async fn start(config: &str, variables: Pairs<'_>) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("majordomo.toml");
        std::fs::write(&file, config).expect("a file can be written");
        let options = ServeOptions::default()
            .with_config(Some(file))
            .with_listen(Some(([127, 0, 0, 1], 0).into()))
            .with_operator_listen(None);
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let environment = variables.iter().map(owned).collect();
        let started = Gateway::start(&options, environment).await;
        let gateway = started.unwrap_or_else(|error| panic!("{error}"));
        let address = gateway.address().expect("it listens");
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(gateway.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            stop,
            running,
            _folder: folder,
        }
    }

    /// Starts a gateway that exports to this collector.
    pub(crate) async fn reporting_to(collector: &Collector, config: &str) -> Self {
        let endpoint = format!("http://{}", collector.address);
        Self::start(config, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]).await
    }

    /// Sends a JSON body and reads the whole response.
    pub(crate) async fn post(&self, path: &str, headers: Pairs<'_>, body: &str) -> Answer {
        let stream = TcpStream::connect(self.address).await.expect("it listens");
        let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = made.expect("it speaks HTTP");
        let driver = tokio::spawn(connection);
        let request = Request::post(path)
            .header("host", "localhost")
            .header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes())));
        let request = request.expect("a request can be made");
        let response = sender.send_request(request).await.expect("it answers");
        let status = response.status();
        let mut incoming = response.into_body();
        let mut body = Vec::new();
        // A truncated body is kept.
        while let Some(Ok(frame)) = incoming.frame().await {
            body.extend(frame.into_data().unwrap_or_default());
        }
        driver.abort();
        (status, body.into())
    }

    /// Stops the gateway, which flushes its spans.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.running.await.expect("it stops in order");
    }

    /// Stops the gateway and returns the request's span and its children in order of
    /// their start.
    pub(crate) async fn spans(self, collector: &Collector) -> (ReceivedSpan, Vec<ReceivedSpan>) {
        self.stop().await;
        let mut spans = collector.spans();
        spans.sort_by_key(|span| (!span.name.starts_with("POST"), span.began));
        assert!(!spans.is_empty(), "no span came");
        let own = spans.remove(0);
        spans.iter().for_each(|span| span.is_within(&own));
        (own, spans)
    }
}
