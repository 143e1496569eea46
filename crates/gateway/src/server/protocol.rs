//! Sniffs the HTTP version of a cleartext connection from its first bytes.
//!
//! Most clients send enough in the first segment, which is peeked and not consumed. If
//! a client sends only a prefix of the HTTP/2 preface (RFC 9113, section 3.4), its
//! bytes are read, so that waiting for more blocks on the socket instead of
//! busy-polling; [`Replay`] returns them to the next reader.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The part of the HTTP/2 preface that identifies it.
const PREFACE: &[u8; 14] = b"PRI * HTTP/2.0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpProtocol {
    Http1,
    Http2,
}

/// Waits until the first bytes determine the protocol. None if the client disconnects
/// before. The caller sets the timeout.
pub(super) async fn sniff_protocol(
    mut stream: TcpStream,
) -> Option<(HttpProtocol, Replay<TcpStream>)> {
    let mut first = [0; PREFACE.len()];
    let seen = stream.peek(&mut first).await.ok()?;
    if seen == 0 {
        return None;
    }
    let (protocol, prefix) = match classify(&first[..seen]) {
        Some(protocol) => (protocol, Prefix::default()),
        None => read_prefix(&mut stream).await?,
    };
    Some((protocol, Replay { prefix, stream }))
}

/// None if more bytes are needed.
fn classify(first: &[u8]) -> Option<HttpProtocol> {
    if !PREFACE.starts_with(first) {
        return Some(HttpProtocol::Http1);
    }
    (first.len() == PREFACE.len()).then_some(HttpProtocol::Http2)
}

async fn read_prefix(stream: &mut (impl AsyncRead + Unpin)) -> Option<(HttpProtocol, Prefix)> {
    let mut prefix = Prefix::default();
    loop {
        let read = stream.read(&mut prefix.bytes[prefix.end..]).await.ok()?;
        if read == 0 {
            return None;
        }
        prefix.end += read;
        if let Some(protocol) = classify(&prefix.bytes[..prefix.end]) {
            return Some((protocol, prefix));
        }
    }
}

/// Bytes that were consumed and must be replayed.
#[derive(Default)]
struct Prefix {
    bytes: [u8; PREFACE.len()],
    begin: usize,
    end: usize,
}

/// A stream that first replays the consumed bytes.
pub(super) struct Replay<S> {
    prefix: Prefix,
    stream: S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Replay<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Prefix { bytes, begin, end } = &mut self.prefix;
        if begin < end {
            let count = buffer.remaining().min(*end - *begin);
            buffer.put_slice(&bytes[*begin..*begin + count]);
            *begin += count;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replay<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    async fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (client, server)
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_client_that_sent_one_byte_does_not_busy_poll() {
        let (mut client, server) = connected().await;
        client.write_all(b"P").await.unwrap();
        let polls = Cell::new(0);
        let mut sniffing = pin!(sniff_protocol(server));
        let counted = poll_fn(|cx| {
            polls.set(polls.get() + 1);
            sniffing.as_mut().poll(cx)
        });
        let sniffed = timeout(Duration::from_secs(10), counted).await;
        assert!(sniffed.is_err(), "one byte is not enough");
        assert!(polls.get() < 10, "polled {} times", polls.get());
    }

    #[tokio::test]
    async fn input_in_chunks_is_classified_and_replayed_whole() {
        for (text, expected) in [
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HttpProtocol::Http2),
            ("POST / HTTP/1.1\r\n\r\n", HttpProtocol::Http1),
            ("PRI * HTTP/1.1\r\n\r\n", HttpProtocol::Http1),
            ("GET / HTTP/1.1\r\n\r\n", HttpProtocol::Http1),
        ] {
            for size in [1, 3, 14, text.len()] {
                let (mut client, server) = connected().await;
                client.set_nodelay(true).unwrap();
                let sending = async {
                    for chunk in text.as_bytes().chunks(size) {
                        client.write_all(chunk).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                    client.shutdown().await.unwrap();
                };
                let (sniffed, ()) = tokio::join!(sniff_protocol(server), sending);
                let (protocol, mut replay) = sniffed.expect("it is classified");
                assert_eq!(protocol, expected, "{text:?} by {size}");
                let mut read = String::new();
                replay.read_to_string(&mut read).await.unwrap();
                assert_eq!(read, text, "by {size}");
            }
        }
    }

    #[tokio::test]
    async fn a_client_that_disconnects_after_one_byte_yields_none() {
        let (mut client, server) = connected().await;
        client.write_all(b"P").await.unwrap();
        drop(client);
        assert!(sniff_protocol(server).await.is_none());
    }
}
