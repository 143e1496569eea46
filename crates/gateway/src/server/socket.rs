//! An HTTP/1 socket that inspects the byte stream.
//!
//! Handles what hyper cannot: raw heads are checked for request smuggling before hyper
//! parses them; pipelined bytes are held back until the response is sent, so that a
//! disconnect is always detected; and a client that sends its head too slowly, or an
//! endless one, is disconnected.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::ConnectionActivity;
use super::head::{Framing, TOO_LONG, scan_head};
use super::limits::Limits;
use super::write_timeout::StallTimer;

/// Maximum pipelined bytes that are held back; a client that sends more is disconnected.
const MAX_PIPELINED: usize = 64 * 1024;
/// Reads of up to a KiB that are discarded before a close.
const MAX_DISCARDED: usize = 256;
/// Longest accepted request line.
const LONGEST_LINE: usize = 16 * 1024;
/// Vectored writes up to this size, such as a chunk with its framing, are copied into
/// one buffer, which is cheaper than a gathered write.
const SMALL: usize = 1024;

/// A socket of an HTTP/1 connection.
pub(super) struct Socket<S> {
    inner: S,
    activity: Arc<ConnectionActivity>,
    stage: SocketStage,
    /// Bytes received after the current request.
    pipelined: BytesMut,
    header: StallTimer,
    /// For a client that has not read its last response yet.
    closing: StallTimer,
    half_closed: bool,
}

enum SocketStage {
    /// A head, as far as received.
    Head(Vec<u8>),
    /// This many bytes of the body are outstanding.
    Body(u64),
    /// A chunked body: its end is not tracked, the connection closes after the
    /// response.
    Chunks,
    /// The request is complete, its response is not.
    Response,
}

impl<S> Socket<S> {
    pub(super) fn new(inner: S, activity: Arc<ConnectionActivity>, limits: &Limits) -> Self {
        Self {
            inner,
            activity,
            stage: SocketStage::Head(Vec::new()),
            pipelined: BytesMut::new(),
            header: StallTimer::new(limits.header),
            closing: StallTimer::new(limits.unused),
            half_closed: false,
        }
    }

    /// Inspects received bytes and returns how many of them follow the current request.
    fn inspect(&mut self, new: &[u8]) -> usize {
        match &mut self.stage {
            SocketStage::Head(seen) => {
                let before = seen.len();
                let head = if before == 0 {
                    scan_head(new)
                } else {
                    seen.extend_from_slice(new);
                    scan_head(seen)
                };
                let Some(head) = head else {
                    if before == 0 {
                        seen.extend_from_slice(new);
                        self.activity.set_in_head(!new.is_empty());
                    }
                    if seen.len() > LONGEST_LINE && !seen.contains(&b'\n') {
                        self.refuse_line();
                    }
                    return 0;
                };
                self.header.stop();
                if before > 0 {
                    self.activity.set_in_head(false);
                }
                let of_body = (before + new.len() - head.end) as u64;
                match head.framing {
                    Ok(Framing::Length(length)) => self.body(length, of_body),
                    Ok(Framing::Chunked) => {
                        self.stage = SocketStage::Chunks;
                        0
                    }
                    Err(rejected) => {
                        self.activity.reject_next(rejected);
                        self.stage = SocketStage::Chunks;
                        0
                    }
                }
            }
            SocketStage::Body(left) => {
                let left = *left;
                self.body(left, new.len() as u64)
            }
            SocketStage::Chunks | SocketStage::Response => 0,
        }
    }

    /// Terminates an overlong request line, since hyper only responds to a complete
    /// head.
    fn refuse_line(&mut self) {
        self.header.stop();
        self.activity.reject_next(TOO_LONG);
        self.stage = SocketStage::Chunks;
        self.pipelined.extend_from_slice(b" HTTP/1.1\r\n\r\n");
    }

    fn body(&mut self, left: u64, came: u64) -> usize {
        self.stage = match left.saturating_sub(came) {
            0 => SocketStage::Response,
            left => SocketStage::Body(left),
        };
        usize::try_from(came.saturating_sub(left)).unwrap_or(usize::MAX)
    }
}

impl<S: AsyncRead + Unpin> Socket<S> {
    /// Holds back input while a response is pending, but detects a disconnect.
    fn poll_response(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.pipelined.len() >= MAX_PIPELINED {
                let text = "too many bytes were pipelined";
                return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, text)));
            }
            let mut space = [0; 1024];
            let mut space = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut self.inner).poll_read(cx, &mut space))?;
            if space.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.pipelined.extend_from_slice(space.filled());
        }
    }
}

impl<S: AsyncRead + Unpin> Socket<S> {
    /// Discards input until the client closes, for a short time: input that is unread when
    /// a socket closes resets the connection, and with it what the client has not read yet
    /// (RFC 9112, section 9.6).
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..MAX_DISCARDED {
            let mut space = [0; 1024];
            let mut space = ReadBuf::new(&mut space);
            match Pin::new(&mut self.inner).poll_read(cx, &mut space) {
                Poll::Ready(Ok(())) if !space.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    return self
                        .closing
                        .poll(cx, "the client does not close")
                        .map(|_| Ok(()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if matches!(this.stage, SocketStage::Response) {
            if !this.activity.take_completed() {
                return this.poll_response(cx);
            }
            this.stage = SocketStage::Head(Vec::new());
        }
        let before = buffer.filled().len();
        if this.pipelined.is_empty() {
            let read = Pin::new(&mut this.inner).poll_read(cx, buffer);
            if read.is_pending() {
                // The timer covers only a head that has begun.
                if matches!(&this.stage, SocketStage::Head(seen) if !seen.is_empty()) {
                    return this.header.poll(cx, "the head arrived too slowly");
                }
                return Poll::Pending;
            }
            ready!(read)?;
            let excess = this.inspect(&buffer.filled()[before..]);
            let end = buffer.filled().len() - excess;
            this.pipelined.extend_from_slice(&buffer.filled()[end..]);
            buffer.set_filled(end);
        } else {
            let count = this.pipelined.len().min(buffer.remaining());
            let next = this.pipelined.split_to(count);
            let excess = this.inspect(&next);
            buffer.put_slice(&next[..count - excess]);
            let mut rest = next;
            rest.advance(count - excess);
            rest.extend_from_slice(&this.pipelined);
            this.pipelined = rest;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let inner = Pin::new(&mut self.get_mut().inner);
        let mut small = [0; SMALL];
        match gathered(slices, &mut small) {
            Some(bytes) => inner.poll_write(cx, bytes),
            None => inner.poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.half_closed {
            ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
            this.half_closed = true;
        }
        match this.activity.is_ending() {
            true => this.poll_closed(cx),
            false => Poll::Ready(Ok(())),
        }
    }
}

/// Copies all slices into `space`, if they fit.
fn gathered<'a>(slices: &[IoSlice<'_>], space: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut end = 0;
    for slice in slices {
        space
            .get_mut(end..end + slice.len())?
            .copy_from_slice(slice);
        end += slice.len();
    }
    Some(&space[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_response_is_closed_by_the_client_or_after_a_while() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        use tokio::time::Instant;

        let limits = Limits::default();
        for (ending, closes) in [(true, false), (true, true), (false, false)] {
            let (mut client, server) = tokio::io::duplex(1 << 10);
            let activity = Arc::<ConnectionActivity>::default();
            if ending {
                activity.end_with_this();
            }
            let mut socket = Socket::new(server, activity, &limits);
            socket.write_all(b"response").await.unwrap();
            client.write_all(b"more than was asked for").await.unwrap();
            let began = Instant::now();
            let closing = tokio::spawn(async move {
                socket.shutdown().await.unwrap();
                Instant::now()
            });
            let mut response = String::new();
            client.read_to_string(&mut response).await.unwrap();
            assert_eq!(response, "response");
            let client = (!closes).then_some(client);
            let waited = closing.await.unwrap() - began;
            let expected = match ending && !closes {
                true => limits.unused,
                false => std::time::Duration::ZERO,
            };
            assert!(waited.abs_diff(expected).as_millis() <= 1, "{waited:?}");
            drop(client);
        }
    }

    #[test]
    fn only_small_writes_are_gathered() {
        let slices = [&b"4\r\n"[..], b"word", b"\r\n"].map(IoSlice::new);
        let mut space = [0; 9];
        assert_eq!(gathered(&slices, &mut space), Some(&b"4\r\nword\r\n"[..]));
        assert_eq!(gathered(&slices, &mut space[..8]), None);
    }
}
