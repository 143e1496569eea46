//! An HTTP/2 connection that many exchanges share.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::transport::dial::Dialed;
use crate::transport::upload::Upload;

/// What one stream may have in flight towards us before it is read.
const STREAM_WINDOW: u32 = 256 * 1024;
/// Until the server has said how many, one stream is opened: more might be
/// refused.
const FIRST_STREAMS: usize = 1;
/// Exchanges on one connection. With the windows below, streams that nobody
/// reads can never use up the connection's window and starve their neighbours.
const MOST_STREAMS: usize = 64;
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MOST_STREAMS as u32;
const LARGEST_HEAD: u32 = 64 * 1024;
/// A connection in use that does not answer a ping is dead after 20 s.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_ANSWER: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Http2 {
    sender: SendRequest<Upload>,
    load: Arc<Load>,
    questions: mpsc::UnboundedSender<oneshot::Sender<()>>,
    pub(super) last_leased: Instant,
}

struct Load {
    streams: AtomicUsize,
    /// What the server allows, as far as it has told.
    allowed: AtomicUsize,
}

/// The right to one stream. The place is free again when it is dropped.
pub(crate) struct Lease {
    pub(crate) sender: SendRequest<Upload>,
    load: Arc<Load>,
    reused: bool,
}

impl Http2 {
    pub(super) async fn open(dialed: Dialed) -> hyper::Result<Self> {
        let io = TokioIo::new(dialed.io);
        let (sender, mut connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_max_send_streams(FIRST_STREAMS)
            .max_header_list_size(LARGEST_HEAD)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_ANSWER)
            .handshake(io)
            .await?;
        let load = Arc::new(Load {
            streams: AtomicUsize::new(0),
            allowed: AtomicUsize::new(FIRST_STREAMS),
        });
        let told = Arc::clone(&load);
        let (questions, mut asked) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
        // Errors reach the streams; there is nobody else to tell.
        tokio::spawn(std::future::poll_fn(move |cx| {
            if Pin::new(&mut connection).poll(cx).is_ready() {
                return Poll::Ready(());
            }
            while let Poll::Ready(Some(question)) = asked.poll_recv(cx) {
                let allowed = connection.current_max_send_streams();
                told.allowed.store(allowed, Ordering::Relaxed);
                // Whoever asked may have left.
                let _ = question.send(());
            }
            Poll::Pending
        }));
        Ok(Self {
            sender,
            load,
            questions,
            last_leased: Instant::now(),
        })
    }

    /// Learns how many streams the server allows by now. It says so after the
    /// connection was made, and nothing tells us when.
    pub(super) async fn ask_for_room(&self) {
        let (question, answer) = oneshot::channel();
        if self.questions.send(question).is_ok() {
            let _ = answer.await;
        }
    }

    /// A stream on this connection, if it has one to give.
    pub(super) fn lease(&mut self, reused: bool) -> Option<Lease> {
        let allowed = self.load.allowed.load(Ordering::Relaxed).min(MOST_STREAMS);
        let streams = &self.load.streams;
        let taken = streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            (used < allowed).then_some(used + 1)
        });
        taken.ok()?;
        self.last_leased = Instant::now();
        Some(Lease {
            sender: self.sender.clone(),
            load: Arc::clone(&self.load),
            reused,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) fn is_unused(&self) -> bool {
        self.load.streams.load(Ordering::Relaxed) == 0
    }

    pub(super) fn is_behind(&self, lease: &Lease) -> bool {
        Arc::ptr_eq(&self.load, &lease.load)
    }
}

impl Lease {
    pub(crate) fn is_reused(&self) -> bool {
        self.reused
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.load.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
