//! An HTTP/2 connection, shared by concurrent exchanges.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::transport::connect::NewConnection;
use crate::transport::request_body::RequestBody;

/// Initial flow-control window of a stream.
const STREAM_WINDOW: u32 = 256 * 1024;
/// Concurrent streams before the server's SETTINGS arrive; more might be refused.
const INITIAL_STREAMS: usize = 1;
/// Maximum concurrent streams per connection. The connection window covers all
/// stream windows, so that unread streams cannot starve the others.
const MAX_STREAMS: usize = 64;
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS as u32;
const MAX_HEADER_LIST: u32 = 64 * 1024;
/// Keep-alive by PING: an active connection is closed 20 s after the server stops
/// responding.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Http2Connection {
    sender: SendRequest<RequestBody>,
    count: Arc<StreamCount>,
    limit_queries: mpsc::UnboundedSender<oneshot::Sender<()>>,
    pub(super) last_used: Instant,
}

struct StreamCount {
    open: AtomicUsize,
    /// SETTINGS_MAX_CONCURRENT_STREAMS, as last seen.
    limit: AtomicUsize,
}

/// The permit to open one stream; released on drop.
pub(crate) struct StreamPermit {
    pub(crate) sender: SendRequest<RequestBody>,
    count: Arc<StreamCount>,
    reused: bool,
}

impl Http2Connection {
    pub(super) async fn open(connected: NewConnection) -> hyper::Result<Self> {
        let io = TokioIo::new(connected.io);
        let (sender, mut connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(INITIAL_STREAMS)
            .max_header_list_size(MAX_HEADER_LIST)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .handshake(io)
            .await?;
        let count = Arc::new(StreamCount {
            open: AtomicUsize::new(0),
            limit: AtomicUsize::new(INITIAL_STREAMS),
        });
        let updated = Arc::clone(&count);
        let (limit_queries, mut queries) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
        // Connection errors surface on the streams.
        tokio::spawn(std::future::poll_fn(move |cx| {
            if Pin::new(&mut connection).poll(cx).is_ready() {
                return Poll::Ready(());
            }
            while let Poll::Ready(Some(reply)) = queries.poll_recv(cx) {
                let limit = connection.current_max_send_streams();
                updated.limit.store(limit, Ordering::Relaxed);
                // The caller may have been cancelled.
                let _ = reply.send(());
            }
            Poll::Pending
        }));
        Ok(Self {
            sender,
            count,
            limit_queries,
            last_used: Instant::now(),
        })
    }

    /// Refreshes the server's stream limit. It arrives in SETTINGS after the
    /// handshake, and hyper does not announce it.
    pub(super) async fn refresh_stream_limit(&self) {
        let (reply, received) = oneshot::channel();
        if self.limit_queries.send(reply).is_ok() {
            let _ = received.await;
        }
    }

    /// Reserves a stream, if the limit permits.
    pub(super) fn reserve(&mut self, reused: bool) -> Option<StreamPermit> {
        let limit = self.count.limit.load(Ordering::Relaxed).min(MAX_STREAMS);
        let open = &self.count.open;
        let reserved = open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            (used < limit).then_some(used + 1)
        });
        reserved.ok()?;
        self.last_used = Instant::now();
        Some(StreamPermit {
            sender: self.sender.clone(),
            count: Arc::clone(&self.count),
            reused,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.count.open.load(Ordering::Relaxed) == 0
    }

    pub(super) fn owns(&self, permit: &StreamPermit) -> bool {
        Arc::ptr_eq(&self.count, &permit.count)
    }
}

impl StreamPermit {
    pub(crate) fn is_reused(&self) -> bool {
        self.reused
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.count.open.fetch_sub(1, Ordering::Relaxed);
    }
}
