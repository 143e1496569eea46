//! Write timeout: disconnects a client that reads nothing.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose peer may be slow but must make progress.
pub(super) struct WriteTimeout<S> {
    inner: S,
    stall: StallTimer,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(inner: S, stall: Duration) -> Self {
        Self {
            inner,
            stall: StallTimer::new(stall),
        }
    }

    fn check_stall<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            let stalled = self.stall.poll(cx, "the client reads nothing");
            return stalled.map(|end| end.and(Err(ErrorKind::TimedOut.into())));
        }
        self.stall.stop();
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.check_stall(cx, polled)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_write_vectored(cx, slices);
        this.check_stall(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_flush(cx);
        this.check_stall(cx, polled)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.check_stall(cx, polled)
    }
}

/// A timer that runs only while an operation is pending.
pub(super) struct StallTimer {
    after: Duration,
    running: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    pub(super) fn new(after: Duration) -> Self {
        Self {
            after,
            running: None,
        }
    }

    pub(super) fn stop(&mut self) {
        self.running = None;
    }

    /// Resolves only to a timeout error.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        text: &'static str,
    ) -> Poll<io::Result<()>> {
        let after = self.after;
        let running = self.running.get_or_insert_with(|| Box::pin(sleep(after)));
        ready!(running.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, text)))
    }
}
