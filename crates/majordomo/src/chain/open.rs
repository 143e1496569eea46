//! Opens a stream up to its commit point, the first semantic event.
//!
//! Until then the attempt leaves no trace with the caller: what came so far is
//! held here and thrown away if the attempt fails.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::{
    Error, ErrorKind, Event, EventStream, FinishReason, Model, Request, Response, Result,
};

/// A preamble longer than this is taken as a beginning.
const LONGEST_PREAMBLE: usize = 1_024;

/// A stream that has begun to answer.
pub(super) struct Opened {
    /// What came up to and with the first semantic event.
    pub(super) preamble: Vec<Event>,
    pub(super) rest: EventStream,
}

pub(super) async fn open(model: &dyn Model, request: Request) -> Result<Opened> {
    if !model.capabilities().streaming {
        return whole(model.generate(request).await?);
    }
    let mut rest = model.events(request).await?;
    let mut preamble = Vec::new();
    loop {
        match poll_fn(|cx| rest.as_mut().poll_next(cx)).await {
            Some(Ok(Event::Finish(reason))) => {
                refuse_empty(&reason)?;
                preamble.push(Event::Finish(reason));
                return Ok(Opened { preamble, rest });
            }
            Some(Ok(event)) => {
                let committed = event.is_semantic();
                preamble.push(event);
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
fn whole(response: Response) -> Result<Opened> {
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
