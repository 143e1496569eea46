//! A client's socket, watched: what comes in, how fast, and what goes out.
//!
//! Three things are done here because only here they can be seen: raw heads are
//! looked at before the HTTP library reads them; bytes behind a request are kept
//! back until its answer is out, so that its end is always noticed; and a client
//! that takes nothing, or is too slow to finish a head, is cut off.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::head::{Framing, look};
use super::limits::Limits;
use super::turn::Turn;

/// So many bytes behind a request are kept; a client that sends more is cut off.
const KEPT: usize = 64 * 1024;

/// A socket of HTTP/1.
pub(super) struct Socket<S> {
    inner: S,
    turn: Arc<Turn>,
    stage: Stage,
    /// What came behind the request that is being answered.
    kept: BytesMut,
    header: Timer,
    stall: Timer,
}

enum Stage {
    /// A head, as far as it came.
    Head(Vec<u8>),
    /// So many bytes of a body are to come.
    Body(u64),
    /// Chunks: their end is not looked for, the connection ends with the answer.
    Chunks,
    /// The request is there; its answer is not.
    Answer,
}

impl<S> Socket<S> {
    pub(super) fn new(inner: S, turn: Arc<Turn>, limits: &Limits) -> Self {
        Self {
            inner,
            turn,
            stage: Stage::Head(Vec::new()),
            kept: BytesMut::new(),
            header: Timer::new(limits.header),
            stall: Timer::new(limits.write_stall),
        }
    }

    /// Looks at bytes that are about to be read; says how many of them are
    /// behind the request.
    fn behind(&mut self, new: &[u8]) -> usize {
        match &mut self.stage {
            Stage::Head(seen) => {
                let before = seen.len();
                let head = if before == 0 {
                    look(new)
                } else {
                    seen.extend_from_slice(new);
                    look(seen)
                };
                let Some(head) = head else {
                    if before == 0 {
                        seen.extend_from_slice(new);
                    }
                    return 0;
                };
                self.header.stop();
                let of_body = (before + new.len() - head.end) as u64;
                match head.framing {
                    Ok(Framing::Length(length)) => self.body(length, of_body),
                    Ok(Framing::Chunked) => {
                        self.stage = Stage::Chunks;
                        0
                    }
                    Err(refused) => {
                        self.turn.refuse(refused);
                        self.stage = Stage::Chunks;
                        0
                    }
                }
            }
            Stage::Body(left) => {
                let left = *left;
                self.body(left, new.len() as u64)
            }
            Stage::Chunks | Stage::Answer => 0,
        }
    }

    fn body(&mut self, left: u64, came: u64) -> usize {
        self.stage = match left.saturating_sub(came) {
            0 => Stage::Answer,
            left => Stage::Body(left),
        };
        usize::try_from(came.saturating_sub(left)).unwrap_or(usize::MAX)
    }
}

impl<S: AsyncRead + Unpin> Socket<S> {
    /// Nothing may be read while an answer is made, but its client may leave.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.kept.len() >= KEPT {
                let text = "too much was sent before the answer was there";
                return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, text)));
            }
            let mut space = [0; 1024];
            let mut space = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut self.inner).poll_read(cx, &mut space))?;
            if space.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.kept.extend_from_slice(space.filled());
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if matches!(this.stage, Stage::Answer) {
            if !this.turn.take_end() {
                return this.poll_answer(cx);
            }
            this.stage = Stage::Head(Vec::new());
        }
        let before = buffer.filled().len();
        if this.kept.is_empty() {
            let read = Pin::new(&mut this.inner).poll_read(cx, buffer);
            if read.is_pending() {
                // Only a head that has begun is waited for here.
                if matches!(&this.stage, Stage::Head(seen) if !seen.is_empty()) {
                    return this.header.poll(cx, "the head was too slow");
                }
                return Poll::Pending;
            }
            ready!(read)?;
            let behind = this.behind(&buffer.filled()[before..]);
            let end = buffer.filled().len() - behind;
            this.kept.extend_from_slice(&buffer.filled()[end..]);
            buffer.set_filled(end);
        } else {
            let count = this.kept.len().min(buffer.remaining());
            let next = this.kept.split_to(count);
            let behind = this.behind(&next);
            buffer.put_slice(&next[..count - behind]);
            let mut rest = next;
            rest.advance(count - behind);
            rest.extend_from_slice(&this.kept);
            this.kept = rest;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Socket<S> {
    /// A client may be slow, but not stand still.
    fn moving<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            let stalled = self.stall.poll(cx, "the client takes nothing");
            return stalled.map(|end| end.and(Err(ErrorKind::TimedOut.into())));
        }
        self.stall.stop();
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.moving(cx, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write_vectored(cx, slices);
        this.moving(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_flush(cx);
        this.moving(cx, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.moving(cx, polled)
    }
}

/// A timer that is set only while something is waited for.
struct Timer {
    after: Duration,
    running: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    fn new(after: Duration) -> Self {
        Self {
            after,
            running: None,
        }
    }

    fn stop(&mut self) {
        self.running = None;
    }

    /// Runs out as an error, never as a success.
    fn poll(&mut self, cx: &mut Context<'_>, text: &'static str) -> Poll<io::Result<()>> {
        let after = self.after;
        let running = self.running.get_or_insert_with(|| Box::pin(sleep(after)));
        ready!(running.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, text)))
    }
}
