//! The bottom of every connection: a TCP socket that two may hold.
//!
//! HTTP/1 owns the connection that owns the socket, yet the pool has to look
//! into it before it is used again. It is shared, so that this costs no second
//! file descriptor; only one of the two uses it at a time, so the lock is free.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Anything that bytes go through: a socket, TLS, TLS in TLS.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// A socket that HTTP reads and writes.
pub(crate) struct Socket(Arc<Shared>);

/// The pool's view of the same socket.
#[derive(Clone)]
pub(crate) struct Peephole(Arc<Shared>);

struct Shared {
    stream: Mutex<TcpStream>,
    write_failed: AtomicBool,
}

impl Shared {
    fn stream(&self) -> MutexGuard<'_, TcpStream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_failed(&self) -> bool {
        self.write_failed.load(Ordering::Relaxed)
    }

    /// A server may answer before it has read everything and close. Its answer
    /// then lies in our receive buffer while our writes already fail, so a
    /// failed write is forgotten and reading says how it ended.
    fn or_pretend(&self, result: io::Result<usize>, length: usize) -> io::Result<usize> {
        result.or_else(|_| {
            self.write_failed.store(true, Ordering::Relaxed);
            Ok(length)
        })
    }
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> (Self, Peephole) {
        let shared = Arc::new(Shared {
            stream: Mutex::new(stream),
            write_failed: AtomicBool::new(false),
        });
        (Self(Arc::clone(&shared)), Peephole(shared))
    }
}

impl Peephole {
    /// Whether an unused connection can be used again: still open, and nothing
    /// in it that nobody asked for. Asks the kernel, since the runtime may not
    /// have heard yet.
    pub(crate) fn is_clean(&self) -> bool {
        if self.0.has_failed() {
            return false;
        }
        let mut byte = [MaybeUninit::uninit()];
        let peeked = SockRef::from(&*self.0.stream()).peek(&mut byte);
        matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The stream's own read knows from a short one that nothing is left, which
        // spares asking the system once more for every piece of an answer.
        Pin::new(&mut *self.0.stream()).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.0.has_failed() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = ready!(Pin::new(&mut *self.0.stream()).poll_write(cx, bytes));
        Poll::Ready(self.0.or_pretend(written, bytes.len()))
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
        Poll::Ready(self.0.or_pretend(written, length))
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
