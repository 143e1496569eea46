//! The TCP socket under every connection, shared with the pool.
//!
//! hyper owns the connection that owns the socket, but the pool must inspect an
//! idle socket before reuse. Sharing it avoids a second file descriptor. Only one
//! side uses it at a time, so the lock is never contended.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Any bidirectional byte stream: TCP, TLS, or TLS in TLS.
pub(crate) trait AsyncIo: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> AsyncIo for T {}

/// The socket, as hyper reads and writes it.
pub(crate) struct PooledSocket(Arc<SharedSocket>);

/// The pool's view of the same socket.
#[derive(Clone)]
pub(crate) struct SocketPeek(Arc<SharedSocket>);

struct SharedSocket {
    stream: Mutex<TcpStream>,
    write_failed: AtomicBool,
}

impl SharedSocket {
    fn stream(&self) -> MutexGuard<'_, TcpStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_failed(&self) -> bool {
        self.write_failed.load(Ordering::Relaxed)
    }

    /// A server may respond and close before it has read the whole request. The
    /// response then waits in the receive buffer while writes already fail, so a
    /// write error is swallowed and reading decides the outcome.
    fn or_swallow(&self, result: io::Result<usize>, length: usize) -> io::Result<usize> {
        result.or_else(|_| {
            self.write_failed.store(true, Ordering::Relaxed);
            Ok(length)
        })
    }
}

impl PooledSocket {
    pub(crate) fn new(stream: TcpStream) -> (Self, SocketPeek) {
        let shared = Arc::new(SharedSocket {
            stream: Mutex::new(stream),
            write_failed: AtomicBool::new(false),
        });
        (Self(Arc::clone(&shared)), SocketPeek(shared))
    }
}

impl SocketPeek {
    /// Whether an idle connection is reusable: open, with no unsolicited bytes.
    /// Peeks at the kernel's buffer, because the runtime may not have seen
    /// readiness yet.
    pub(crate) fn is_quiet(&self) -> bool {
        if self.0.has_failed() {
            return false;
        }
        let mut byte = [MaybeUninit::uninit()];
        let peeked = SockRef::from(&*self.0.stream()).peek(&mut byte);
        matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl AsyncRead for PooledSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // `TcpStream` infers from a short read that the buffer is empty, which
        // saves a system call per chunk.
        Pin::new(&mut *self.0.stream()).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PooledSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.0.has_failed() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = ready!(Pin::new(&mut *self.0.stream()).poll_write(cx, bytes));
        Poll::Ready(self.0.or_swallow(written, bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        if self.0.has_failed() {
            return Poll::Ready(Ok(length));
        }
        let written = ready!(Pin::new(&mut *self.0.stream()).poll_write_vectored(cx, slices));
        Poll::Ready(self.0.or_swallow(written, length))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0.stream()).shutdown(std::net::Shutdown::Write))
    }
}
