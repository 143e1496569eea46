//! An HTTP/1.1 connection, driven by whoever uses it.
//!
//! No task of its own: the exchange polls it while it waits, and an unused one
//! is not polled at all. Dropping the exchange therefore drops the socket, and
//! the server sees the close at once.

use std::pin::Pin;
use std::task::{Context, Waker};

use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::transport::dial::{Dialed, Io, Peephole};
use crate::transport::upload::Upload;

/// The bound of a head, and of what one stream buffers.
const BUFFER: usize = 64 * 1024;

pub(crate) struct Http1 {
    pub(crate) sender: SendRequest<Upload>,
    connection: Box<Connection<TokioIo<Box<dyn Io>>, Upload>>,
    peephole: Peephole,
    ended: bool,
    /// Since when it is unused; `None` before its first exchange is over.
    pub(super) unused_since: Option<Instant>,
}

impl Http1 {
    pub(super) async fn open(dialed: Dialed) -> hyper::Result<Self> {
        let io = TokioIo::new(dialed.io);
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(BUFFER)
            .handshake(io)
            .await?;
        Ok(Self {
            sender,
            connection: Box::new(connection),
            peephole: dialed.peephole,
            ended: false,
            unused_since: None,
        })
    }

    /// Lets the connection read and write. What it finds reaches the response
    /// and its body, errors included.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.ended {
            let driven = Pin::new(&mut *self.connection).poll_without_shutdown(cx);
            self.ended = driven.is_ready();
        }
    }

    pub(crate) fn is_reused(&self) -> bool {
        self.unused_since.is_some()
    }

    /// Whether the last exchange is over and the next one may begin.
    pub(super) fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.ended && self.sender.is_ready() && self.peephole.is_clean()
    }

    /// Whether the server has kept it open and silent meanwhile.
    pub(super) fn is_clean(&self) -> bool {
        self.peephole.is_clean()
    }
}
