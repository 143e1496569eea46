//! Which HTTP a connection without TLS speaks, by its first bytes.
//!
//! Most clients send enough at once to be told apart, and that much is looked at
//! without being taken. Of a client that sends the beginning of HTTP/2's preface,
//! the bytes are read, so that the wait for more is a wait for the socket and not a
//! poll; [`Replay`] gives them back to whoever reads next.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How HTTP/2 begins, as far as it must be read to know.
const PREFACE: &[u8; 14] = b"PRI * HTTP/2.0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// Waits until the first bytes tell the version. None if the client leaves before.
/// The caller bounds the time.
pub(super) async fn version(mut stream: TcpStream) -> Option<(Version, Replay<TcpStream>)> {
    let mut first = [0; PREFACE.len()];
    let seen = stream.peek(&mut first).await.ok()?;
    if seen == 0 {
        return None;
    }
    let (version, prefix) = match judge(&first[..seen]) {
        Some(version) => (version, Prefix::default()),
        None => read_on(&mut stream).await?,
    };
    Some((version, Replay { prefix, stream }))
}

/// None means that it cannot be told yet.
fn judge(first: &[u8]) -> Option<Version> {
    if !PREFACE.starts_with(first) {
        return Some(Version::Http1);
    }
    (first.len() == PREFACE.len()).then_some(Version::Http2)
}

async fn read_on(stream: &mut (impl AsyncRead + Unpin)) -> Option<(Version, Prefix)> {
    let mut prefix = Prefix::default();
    loop {
        let read = stream.read(&mut prefix.bytes[prefix.end..]).await.ok()?;
        if read == 0 {
            return None;
        }
        prefix.end += read;
        if let Some(version) = judge(&prefix.bytes[..prefix.end]) {
            return Some((version, prefix));
        }
    }
}

/// Bytes that were read and are to be read again.
#[derive(Default)]
struct Prefix {
    bytes: [u8; PREFACE.len()],
    begin: usize,
    end: usize,
}

/// A stream that begins with what was read of it already.
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
    async fn a_client_that_sends_one_letter_costs_nothing_while_it_is_waited_for() {
        let (mut client, server) = connected().await;
        client.write_all(b"P").await.unwrap();
        let polls = Cell::new(0);
        let mut telling = pin!(version(server));
        let counted = poll_fn(|cx| {
            polls.set(polls.get() + 1);
            telling.as_mut().poll(cx)
        });
        let told = timeout(Duration::from_secs(10), counted).await;
        assert!(told.is_err(), "one letter tells nothing");
        assert!(polls.get() < 10, "polled {} times", polls.get());
    }

    #[tokio::test]
    async fn whatever_comes_in_pieces_is_told_and_read_whole() {
        for (text, expected) in [
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Version::Http2),
            ("POST / HTTP/1.1\r\n\r\n", Version::Http1),
            ("PRI * HTTP/1.1\r\n\r\n", Version::Http1),
            ("GET / HTTP/1.1\r\n\r\n", Version::Http1),
        ] {
            for piece in [1, 3, 14, text.len()] {
                let (mut client, server) = connected().await;
                client.set_nodelay(true).unwrap();
                let sending = async {
                    for piece in text.as_bytes().chunks(piece) {
                        client.write_all(piece).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                    client.shutdown().await.unwrap();
                };
                let (told, ()) = tokio::join!(version(server), sending);
                let (version, mut replay) = told.expect("it is told");
                assert_eq!(version, expected, "{text:?} by {piece}");
                let mut read = String::new();
                replay.read_to_string(&mut read).await.unwrap();
                assert_eq!(read, text, "by {piece}");
            }
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_after_a_letter_is_let_go() {
        let (mut client, server) = connected().await;
        client.write_all(b"P").await.unwrap();
        drop(client);
        assert!(version(server).await.is_none());
    }
}
