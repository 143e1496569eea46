//! A client's socket, watched: what comes in, how fast, and what goes out.
//!
//! Some things are done here because only here they can be seen: raw heads are
//! looked at before the HTTP library reads them; bytes behind a request are kept
//! back until its answer is out, so that its end is always noticed; and a client
//! that is too slow to finish a head, or sends one without an end, is cut off.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::head::{Framing, TOO_LONG, look};
use super::limits::Limits;
use super::turn::Turn;
use super::write_timeout::Timer;

/// So many bytes behind a request are kept; a client that sends more is cut off.
const KEPT: usize = 64 * 1024;
/// So long may the first line be before its end is waited for no longer.
const LONGEST_LINE: usize = 16 * 1024;
/// Up to so many bytes in pieces, as a chunk with its frame, are written as one:
/// to copy them costs less than to have the system gather them.
const SMALL: usize = 1024;

/// A socket of HTTP/1.
pub(super) struct Socket<S> {
    inner: S,
    turn: Arc<Turn>,
    stage: Stage,
    /// What came behind the request that is being answered.
    kept: BytesMut,
    header: Timer,
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
                    if seen.len() > LONGEST_LINE && !seen.contains(&b'\n') {
                        self.refuse_line();
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

    /// A first line that does not end is ended here: only a whole head can be
    /// told what is wrong with it.
    fn refuse_line(&mut self) {
        self.header.stop();
        self.turn.refuse(TOO_LONG);
        self.stage = Stage::Chunks;
        self.kept.extend_from_slice(b" HTTP/1.1\r\n\r\n");
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Socket<S> {
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
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

/// All of the pieces in this space, if it is enough.
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

    #[test]
    fn only_small_writes_are_gathered() {
        let pieces = [&b"4\r\n"[..], b"word", b"\r\n"].map(IoSlice::new);
        let mut space = [0; 9];
        assert_eq!(gathered(&pieces, &mut space), Some(&b"4\r\nword\r\n"[..]));
        assert_eq!(gathered(&pieces, &mut space[..8]), None);
    }
}
