//! Opens a stream up to its commit point, the first semantic event.
//!
//! Until then the attempt leaves no trace with the caller: what came so far is
//! held here and thrown away if the attempt fails.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::{
    Error, ErrorKind, Event, EventStream, FinishReason, Model, Piece, PieceStream, Request,
    Response, Result,
};

/// A preamble longer than this is taken as a beginning.
const LONGEST_PREAMBLE: usize = 1_024;

/// What a stream is made of.
pub(super) trait Item: Send + Unpin + 'static {
    /// What it tells.
    fn events(&self) -> &[Event];

    /// Why the answer ended, if this is its end.
    fn finish(&self) -> Option<&FinishReason> {
        match self.events().last() {
            Some(Event::Finish(reason)) => Some(reason),
            _ => None,
        }
    }
}

impl Item for Event {
    fn events(&self) -> &[Event] {
        std::slice::from_ref(self)
    }
}

impl Item for Piece {
    fn events(&self) -> &[Event] {
        &self.events
    }
}

/// A stream of items, however they come.
pub(super) type Items<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// A stream that has begun to answer.
pub(super) struct Opened<T> {
    /// What came up to and with the first semantic event.
    pub(super) preamble: Vec<T>,
    pub(super) rest: Items<T>,
}

/// The answer as events.
pub(super) async fn events(model: &dyn Model, request: Request) -> Result<Opened<Event>> {
    if !model.capabilities().streaming {
        return whole(model.generate(request).await?);
    }
    let stream: EventStream = model.events(request).await?;
    begin(stream).await
}

/// The answer in the provider's own bytes.
pub(super) async fn pieces(model: &dyn Model, request: Request) -> Result<Opened<Piece>> {
    let stream: PieceStream = model.pieces(request).await?;
    begin(stream).await
}

async fn begin<T: Item>(mut rest: Items<T>) -> Result<Opened<T>> {
    let mut preamble = Vec::new();
    loop {
        match poll_fn(|cx| rest.as_mut().poll_next(cx)).await {
            Some(Ok(item)) => {
                let begun = item.events().iter().any(Event::is_semantic);
                if let (false, Some(reason)) = (begun, item.finish()) {
                    refuse_empty(reason)?;
                }
                let committed = begun || item.finish().is_some();
                preamble.push(item);
                if committed || preamble.len() > LONGEST_PREAMBLE {
                    return Ok(Opened { preamble, rest });
                }
            }
            Some(Err(error)) => return Err(error),
            None => return Err(truncated()),
        }
    }
}

/// The answer of a target that cannot stream, as a stream that came at once.
fn whole(response: Response) -> Result<Opened<Event>> {
    if response.is_empty() {
        return Err(empty());
    }
    Ok(Opened {
        preamble: response.to_events(),
        rest: Box::pin(NoMore),
    })
}

struct NoMore;

impl Stream for NoMore {
    type Item = Result<Event>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

/// A stream that finished without saying anything; a refusal or a filter's cut
/// is an outcome all the same.
fn refuse_empty(reason: &FinishReason) -> Result<()> {
    let said = Response {
        finish: reason.clone(),
        ..Response::new(Vec::new())
    };
    if said.is_empty() {
        return Err(empty());
    }
    Ok(())
}

pub(super) fn empty() -> Error {
    Error::new(ErrorKind::Empty, "the answer is empty")
}

pub(super) fn truncated() -> Error {
    Error::new(
        ErrorKind::Truncated,
        "the stream ended before the model said that it was done",
    )
}
