//! Opens a stream and decides when it commits.
//!
//! Before the commit point an attempt is invisible to the caller: its items are buffered
//! here and discarded if it fails, so the chain can retry or advance. A stream commits
//! with the first of
//!
//! - an item with a semantic event ([`Event::is_semantic`]: text, reasoning, a tool call),
//! - a finish that is an outcome without content, such as a refusal or a content filter,
//! - [`MAX_PREAMBLE`] + 1 buffered items: the buffer is bounded, so a longer preamble counts
//!   as a beginning.
//!
//! A finish without any content is an empty response, and fails the attempt.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::{
    Error, ErrorKind, Event, EventStream, FinishReason, Model, ModelExt, OutputCount, RawChunk,
    RawChunkStream, Request, Response, Result,
};

use super::gate::AdmittedAttempt;

/// Items without semantic content that are buffered before the stream commits anyway.
const MAX_PREAMBLE: usize = 1_024;

/// An item of a stream: an event, or raw bytes with the events they encode.
pub(super) trait StreamElement: Send + Unpin + 'static {
    fn events(&self) -> &[Event];

    /// Bytes of content, possibly estimated.
    fn content_bytes(&self) -> usize;

    /// The output that arrived with the item after the usage it reports, if already counted.
    fn unreported(&self) -> Option<OutputCount>;

    /// Why the response ended, if this item ends it.
    fn finish(&self) -> Option<&FinishReason> {
        match self.events().last() {
            Some(Event::Finish(reason)) => Some(reason),
            _ => None,
        }
    }
}

impl StreamElement for Event {
    fn events(&self) -> &[Event] {
        std::slice::from_ref(self)
    }

    fn content_bytes(&self) -> usize {
        self.content_len()
    }

    fn unreported(&self) -> Option<OutputCount> {
        None
    }
}

impl StreamElement for RawChunk {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn content_bytes(&self) -> usize {
        self.content_bytes
    }

    fn unreported(&self) -> Option<OutputCount> {
        Some(self.unreported)
    }
}

/// A stream of items.
pub(super) type Items<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// A committed stream.
pub(super) struct Committed<T> {
    /// The buffered items, up to and including the one that committed.
    pub(super) preamble: Vec<T>,
    pub(super) rest: Items<T>,
}

/// Opens a stream of events.
pub(super) async fn events(
    model: &dyn Model,
    request: Request,
    attempt: &mut AdmittedAttempt,
) -> Result<Committed<Event>> {
    if !model.capabilities().streaming {
        let response = model.generate(request).await?;
        attempt.received(&response);
        return from_response(response);
    }
    let stream: EventStream = model.events(request).await?;
    until_committed(stream, attempt).await
}

/// Opens a stream of the provider's raw bytes.
pub(super) async fn pieces(
    model: &dyn Model,
    request: Request,
    attempt: &mut AdmittedAttempt,
) -> Result<Committed<RawChunk>> {
    let stream: RawChunkStream = model.raw_chunks(request).await?;
    until_committed(stream, attempt).await
}

async fn until_committed<T: StreamElement>(
    mut rest: Items<T>,
    attempt: &mut AdmittedAttempt,
) -> Result<Committed<T>> {
    let mut preamble = Vec::new();
    loop {
        match poll_fn(|cx| rest.as_mut().poll_next(cx)).await {
            Some(Ok(item)) => {
                attempt.observe(item.events(), item.content_bytes(), item.unreported());
                let semantic = item.events().iter().any(Event::is_semantic);
                if let (false, Some(reason)) = (semantic, item.finish()) {
                    refuse_empty(reason)?;
                }
                let committed = semantic || item.finish().is_some();
                preamble.push(item);
                if committed || preamble.len() > MAX_PREAMBLE {
                    return Ok(Committed { preamble, rest });
                }
            }
            Some(Err(error)) => return Err(error),
            None => return Err(truncated()),
        }
    }
}

/// The response of a target that cannot stream, as a committed stream.
fn from_response(response: Response) -> Result<Committed<Event>> {
    if response.is_empty() {
        return Err(empty_response());
    }
    Ok(Committed {
        preamble: response.to_events(),
        rest: Box::pin(EmptyStream),
    })
}

struct EmptyStream;

impl Stream for EmptyStream {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

/// Fails a stream that finished without content, unless its reason is an outcome in
/// itself: a refusal or a content filter.
fn refuse_empty(reason: &FinishReason) -> Result<()> {
    let response = Response::new(Vec::new()).with_finish(reason.clone());
    if response.is_empty() {
        return Err(empty_response());
    }
    Ok(())
}

pub(super) fn empty_response() -> Error {
    Error::new(ErrorKind::Empty, "the response is empty")
}

pub(super) fn truncated() -> Error {
    Error::new(
        ErrorKind::Truncated,
        "the stream ended before the model reported a finish",
    )
}
