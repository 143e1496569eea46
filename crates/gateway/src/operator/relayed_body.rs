//! The body of a client's response, passed on to the page as it arrives.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use http_body_util::BodyExt;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::timeout;

use super::lifetime::Lifetime;
use crate::heavy_lane::LaneJob;
use crate::response_body::Body;

/// Chunks that may wait for the reader.
pub(super) const WAITING: usize = 16;
/// The interval at which a connection that waits for a model is kept alive.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A response in progress. Dropping it cancels the request.
pub(super) struct RelayedBody {
    chunks: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    /// Produces the chunks.
    _job: LaneJob<()>,
}

impl RelayedBody {
    pub(super) fn new(chunks: Receiver<Bytes>, job: LaneJob<()>, lifetime: Lifetime) -> Self {
        let chunks = stream::unfold((chunks, lifetime), |(mut chunks, lifetime)| async move {
            // Polled only while the connection takes bytes, so a silent model is tolerated and
            // a stalled reader is not.
            loop {
                lifetime.extend();
                if let Ok(chunk) = timeout(PATIENCE, chunks.recv()).await {
                    return Some((chunk?, (chunks, lifetime)));
                }
            }
        });
        Self {
            chunks: Box::pin(chunks),
            _job: job,
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.chunks.as_mut().poll_next(cx)
    }
}

/// Sends a body chunk by chunk until it ends or the reader leaves.
pub(super) async fn relay(mut body: Body, chunks: Sender<Bytes>) {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = chunks.closed() => return,
        };
        let Some(Ok(frame)) = frame else {
            return;
        };
        if let Ok(data) = frame.into_data()
            && chunks.send(data).await.is_err()
        {
            return;
        }
    }
}
