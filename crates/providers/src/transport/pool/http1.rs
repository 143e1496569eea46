//! An HTTP/1.1 connection, polled by the exchange that uses it.
//!
//! There is no background task: idle connections are not polled, and dropping an
//! exchange drops the socket, so that the server sees the close immediately.

use std::pin::Pin;
use std::task::{Context, Waker};

use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::transport::connect::{AsyncIo, NewConnection, SocketPeek};
use crate::transport::request_body::RequestBody;

/// Limit of the response head and of the read buffer.
const MAX_BUFFER: usize = 64 * 1024;

pub(crate) struct Http1Connection {
    pub(crate) sender: SendRequest<RequestBody>,
    connection: Box<Connection<TokioIo<Box<dyn AsyncIo>>, RequestBody>>,
    peek: SocketPeek,
    closed: bool,
    /// Start of the idle period; `None` until the first exchange ends.
    pub(super) idle_since: Option<Instant>,
}

impl Http1Connection {
    pub(super) async fn open(connected: NewConnection) -> hyper::Result<Self> {
        let io = TokioIo::new(connected.io);
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_BUFFER)
            .handshake(io)
            .await?;
        Ok(Self {
            sender,
            connection: Box::new(connection),
            peek: connected.peek,
            closed: false,
            idle_since: None,
        })
    }

    /// Polls the connection. Its results, including errors, reach the response
    /// future and the body.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        if !self.closed {
            let driven = Pin::new(&mut *self.connection).poll_without_shutdown(cx);
            self.closed = driven.is_ready();
        }
    }

    pub(crate) fn is_reused(&self) -> bool {
        self.idle_since.is_some()
    }

    /// Whether the last exchange is complete and another may start, unless the server has
    /// closed it or sends more, which is checked before reuse.
    pub(super) fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        !self.closed && self.sender.is_ready()
    }

    /// Whether the server has kept the idle connection open and silent.
    pub(super) fn is_quiet(&self) -> bool {
        self.peek.is_quiet()
    }
}
