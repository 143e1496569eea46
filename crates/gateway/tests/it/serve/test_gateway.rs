//! Test gateway on a free port, and a client that sees every byte.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use majordomo_gateway::{Gateway, ServeOptions};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A running gateway. It stops when this is dropped.
pub(crate) struct TestGateway {
    pub(crate) address: SocketAddr,
    /// Address of the operator listener.
    pub(crate) operator: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    folder: tempfile::TempDir,
}

/// Headers of a request.
pub(crate) type Headers<'a> = &'a [(&'a str, &'a str)];

/// A response.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the connection closed before the end of the body.
    pub(crate) cut: bool,
}

impl TestGateway {
    /// Starts a gateway with this configuration and an empty environment.
    pub(crate) async fn start(config: &str) -> Self {
        Self::start_with(config, |_| {}).await
    }

    /// Like [`start`](Self::start), after `prepare` saw the gateway.
    pub(crate) async fn start_with(config: &str, prepare: impl FnOnce(&Gateway)) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file: PathBuf = folder.path().join("majordomo.toml");
        std::fs::write(&file, config).expect("a file can be written");
        let options = ServeOptions::default()
            .with_config(Some(file))
            .with_listen(Some(([127, 0, 0, 1], 0).into()))
            .with_operator_listen(None);
        let started = Gateway::start(&options, BTreeMap::new()).await;
        let gateway = started.unwrap_or_else(|error| panic!("{error}"));
        prepare(&gateway);
        let address = gateway.address().expect("it listens");
        let operator = gateway.operator_address().expect("it listens");
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(gateway.run(async {
            let _ = stopped.await;
        }));
        Self {
            address,
            operator,
            stop,
            running,
            folder,
        }
    }

    /// Stops the gateway and waits for its end.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.running.await.expect("it does not panic");
    }

    /// Sends a JSON body and reads the whole response.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> TestResponse {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .expect("a request can be made");
        self.send(request).await
    }

    /// Sends a GET.
    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        let request = Request::builder()
            .uri(path)
            .header("host", "localhost")
            .body(Full::default())
            .expect("a request can be made");
        self.send(request).await
    }

    /// Sends a request with these headers; a body makes it a POST.
    pub(crate) async fn request(
        &self,
        path: &str,
        headers: Headers<'_>,
        body: &str,
    ) -> TestResponse {
        let method = match body.is_empty() {
            true => Method::GET,
            false => Method::POST,
        };
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(
            request.header("host", "localhost"),
            |request, (name, value)| request.header(*name, *value),
        );
        let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
        let request = request.body(body);
        self.send(request.expect("a request can be made")).await
    }

    /// Overwrites the configuration file.
    pub(crate) fn rewrite(&self, config: &str) {
        let new = self.folder.path().join("new");
        std::fs::write(&new, config).expect("a file can be written");
        let file = self.folder.path().join("majordomo.toml");
        std::fs::rename(new, file).expect("a file can be moved");
    }

    /// Sends a JSON body on a new connection and reads nothing; dropping the connection
    /// is a disconnect.
    pub(crate) async fn begin(&self, path: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let sent = stream.write_all(&[head.as_bytes(), body].concat()).await;
        sent.expect("it reads");
        stream
    }

    /// Sends any request.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> TestResponse {
        self.send_to(self.address, request).await
    }

    /// Sends a request to the operator listener; a body makes it a POST of JSON.
    pub(crate) async fn send_to_operator(
        &self,
        path: &str,
        headers: Headers<'_>,
        body: &[u8],
    ) -> TestResponse {
        let request = Request::builder()
            .method(match body {
                [] => Method::GET,
                _ => Method::POST,
            })
            .uri(path)
            .header("host", self.operator.to_string());
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let request = match headers.iter().any(|(name, _)| *name == "content-type") {
            true => request,
            false => request.header("content-type", "application/json"),
        };
        let request = request.body(Full::new(Bytes::copy_from_slice(body)));
        let request = request.expect("a request can be made");
        self.send_to(self.operator, request).await
    }

    /// Sends any request to either listener.
    pub(crate) async fn send_to_address(
        &self,
        address: SocketAddr,
        request: Request<Full<Bytes>>,
    ) -> TestResponse {
        self.send_to(address, request).await
    }

    async fn send_to(&self, address: SocketAddr, request: Request<Full<Bytes>>) -> TestResponse {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("it speaks HTTP");
        let driver = tokio::spawn(connection);
        let response = sender.send_request(request).await.expect("it answers");
        let (head, mut incoming) = response.into_parts();
        let mut body = Vec::new();
        // A truncated body is kept.
        let cut = loop {
            match incoming.frame().await {
                Some(Ok(frame)) => body.extend(frame.into_data().unwrap_or_default()),
                Some(Err(_)) => break true,
                None => break false,
            }
        };
        driver.abort();
        TestResponse {
            status: head.status,
            headers: head.headers,
            body: body.into(),
            cut,
        }
    }
}

impl TestResponse {
    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("answers are text")
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the answer is JSON")
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
