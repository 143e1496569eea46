//! The stream of one reader.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::super::lifetime::Lifetime;
use crate::live::FeedReader;

/// A comment is sent after this time without an event.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The events for one reader.
pub(in crate::operator) struct EventStream {
    chunks: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    lifetime: Lifetime,
    /// Counts this reader.
    _reader: FeedReader,
    /// Whether the reader may still read: its key may have been frozen.
    is_valid: Box<dyn Fn() -> bool + Send + Sync>,
}

impl EventStream {
    /// Begins with `first`, then follows the receiver.
    pub(super) fn new(
        first: Bytes,
        receiver: Receiver<Bytes>,
        lifetime: Lifetime,
        reader: FeedReader,
        is_valid: Box<dyn Fn() -> bool + Send + Sync>,
    ) -> Self {
        let chunks = stream::unfold(
            (Some(first), receiver),
            |(first, mut receiver)| async move {
                let chunk = match first {
                    Some(first) => first,
                    None => next(&mut receiver).await?,
                };
                Some((chunk, (None, receiver)))
            },
        );
        Self {
            chunks: Box::pin(chunks),
            lifetime,
            _reader: reader,
            is_valid,
        }
    }

    pub(in crate::operator) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        // Polled at every keep-alive at the latest.
        if !(self.is_valid)() {
            return Poll::Ready(None);
        }
        // Polled only while the connection takes bytes.
        self.lifetime.extend();
        self.chunks.as_mut().poll_next(cx)
    }
}

async fn next(receiver: &mut Receiver<Bytes>) -> Option<Bytes> {
    match timeout(KEEP_ALIVE, receiver.recv()).await {
        Ok(Ok(chunk)) => Some(chunk),
        Ok(Err(RecvError::Lagged(_))) => Some(Bytes::from_static(b"event: missed\ndata: 0\n\n")),
        Ok(Err(RecvError::Closed)) => None,
        Err(_) => Some(Bytes::from_static(b": keep-alive\n\n")),
    }
}
