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
use crate::capture::CaptureWriter;
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

/// Sends a body chunk by chunk until it ends or the reader leaves, and copies it to the
/// capture.
pub(super) async fn relay(mut body: Body, chunks: Sender<Bytes>, captured: Option<CaptureWriter>) {
    while let Some(data) = next(&mut body, &chunks).await {
        if let Some(captured) = &captured {
            captured.write(&data);
        }
        if chunks.send(data).await.is_err() {
            break;
        }
    }
    if let Some(captured) = captured {
        captured.end();
    }
}

/// The next data, unless the body ends or the reader leaves before it.
async fn next(body: &mut Body, chunks: &Sender<Bytes>) -> Option<Bytes> {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame?.ok()?,
            () = chunks.closed() => return None,
        };
        if let Ok(data) = frame.into_data() {
            return Some(data);
        }
    }
}
