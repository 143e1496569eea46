//! A client on a raw socket, which may violate HTTP.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::TEST_TIMEOUT;
use super::record;

/// A raw connection.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("it listens");
        Self { stream }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream }
    }

    /// Sends bytes; the gateway may have closed already.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Reads until the gateway closes or resets the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut all = Vec::new();
        let read = timeout(TEST_TIMEOUT, self.stream.read_to_end(&mut all)).await;
        let all = String::from_utf8_lossy(&all).into_owned();
        let _ = read.unwrap_or_else(|_| panic!("still open: {all:?}"));
        record::heard(&all);
        all
    }

    /// Reads until this text arrives.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        let reading = async {
            let mut space = [0; 4096];
            loop {
                let count = self.stream.read(&mut space).await.expect("it is open");
                all.extend_from_slice(&space[..count]);
                let seen = String::from_utf8_lossy(&all);
                assert!(count > 0, "closed before {text:?}: {seen}");
                if seen.contains(text) {
                    record::heard(&seen);
                    return seen.into_owned();
                }
            }
        };
        let read = timeout(TEST_TIMEOUT, reading).await;
        read.unwrap_or_else(|_| panic!("{text:?} never arrives"))
    }
}
