//! The bottom of every connection: a TCP socket that two may hold.
//!
//! HTTP/1 owns the connection that owns the socket, yet the pool has to look
//! into it before it is used again. It is shared, so that this costs no second
//! file descriptor.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    stream: TcpStream,
    write_failed: AtomicBool,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> (Self, Peephole) {
        let shared = Arc::new(Shared {
            stream,
            write_failed: AtomicBool::new(false),
        });
        (Self(Arc::clone(&shared)), Peephole(shared))
    }

    /// A server may answer before it has read everything and close. Its answer
    /// then lies in our receive buffer while our writes already fail, so a
    /// failed write is forgotten and reading says how it ended.
    fn or_pretend(&self, result: io::Result<usize>, length: usize) -> io::Result<usize> {
        result.or_else(|_| {
            self.0.write_failed.store(true, Ordering::Relaxed);
            Ok(length)
        })
    }

    fn poll_try_write(
        &self,
        cx: &mut Context<'_>,
        length: usize,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if self.0.write_failed.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(length));
        }
        loop {
            ready!(self.0.stream.poll_write_ready(cx))?;
            match write(&self.0.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.or_pretend(result, length)),
            }
        }
    }
}

impl Peephole {
    /// Whether an unused connection can be used again: still open, and nothing
    /// in it that nobody asked for. Asks the kernel, since the runtime may not
    /// have heard yet.
    pub(crate) fn is_clean(&self) -> bool {
        if self.0.write_failed.load(Ordering::Relaxed) {
            return false;
        }
        let mut byte = [MaybeUninit::uninit()];
        let peeked = SockRef::from(&self.0.stream).peek(&mut byte);
        matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut buffer = buffer;
        loop {
            ready!(self.0.stream.poll_read_ready(cx))?;
            match self.0.stream.try_read_buf(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, bytes.len(), |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        self.poll_try_write(cx, length, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.0.stream).shutdown(std::net::Shutdown::Write))
    }
}
