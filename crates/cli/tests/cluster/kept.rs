//! A client that keeps its connection to a gateway, and takes the next gateway when that one
//! says that it closes.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::node::TIMEOUT;

pub(crate) struct KeptClient {
    nodes: Vec<SocketAddr>,
    at: usize,
    stream: Option<TcpStream>,
}

impl KeptClient {
    pub(crate) fn new(nodes: Vec<SocketAddr>, at: usize) -> Self {
        let stream = None;
        Self { nodes, at, stream }
    }

    /// Sends a request; its status, or 0 if it was not answered completely.
    pub(crate) async fn status_of(&mut self, request: &str) -> u16 {
        let mut stream = self.connection().await;
        let exchanged = timeout(TIMEOUT, exchange(&mut stream, request)).await;
        let Ok(Some((status, closes))) = exchanged else {
            return 0;
        };
        if closes {
            self.at += 1;
        } else {
            self.stream = Some(stream);
        }
        status
    }

    /// The kept connection, unless it was closed, or a new one to a gateway that listens.
    async fn connection(&mut self) -> TcpStream {
        if let Some(stream) = self.stream.take() {
            match stream.try_read(&mut [0]) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return stream,
                _ => self.at += 1,
            }
        }
        loop {
            let node = self.nodes[self.at % self.nodes.len()];
            match TcpStream::connect(node).await {
                Ok(stream) => return stream,
                Err(_) => self.at += 1,
            }
        }
    }
}

/// The status of a response, and whether the connection closes after it.
async fn exchange(stream: &mut TcpStream, request: &str) -> Option<(u16, bool)> {
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut bytes = Vec::new();
    let mut space = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let header = |name: &str| {
                let start = format!("\r\n{name}: ");
                head.split(&start).nth(1)?.split("\r\n").next()
            };
            let length: usize = header("content-length")?.parse().ok()?;
            if body.len() >= length {
                let status = head.split(' ').nth(1)?.parse().ok()?;
                return Some((status, header("connection") == Some("close")));
            }
        }
        match stream.read(&mut space).await {
            Ok(count @ 1..) => bytes.extend_from_slice(&space[..count]),
            _ => return None,
        }
    }
}
