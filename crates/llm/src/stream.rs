//! The high-level response stream.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::{
    Assembler, AttemptLog, AttemptOutcome, Error, ErrorKind, Event, Part, RawRecorder, Response,
    Result, ToolCall,
};

/// A stream of [`Event`]s. Dropping it cancels the request.
///
/// The trait `Stream` is that of the crate `futures-core`. A model that produces its own
/// events, and middleware that observes those of another model, depend on it, or on
/// `futures-util` for its combinators.
///
/// ```
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// use futures_core::Stream;
/// use majordomo_llm::{Event, EventStream, Result};
///
/// /// Counts the bytes that pass through.
/// struct Counted {
///     inner: EventStream,
///     bytes: usize,
/// }
///
/// impl Stream for Counted {
///     type Item = Result<Event>;
///
///     fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
///         let item = self.inner.as_mut().poll_next(cx);
///         if let Poll::Ready(Some(Ok(event))) = &item {
///             self.bytes += event.content_len();
///         }
///         item
///     }
/// }
///
/// fn counted(inner: EventStream) -> EventStream {
///     Box::pin(Counted { inner, bytes: 0 })
/// }
/// ```
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event>> + Send>>;

/// One item of a [`ResponseStream`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamItem {
    /// A text delta.
    Text(String),
    /// A reasoning delta.
    Reasoning(String),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// The complete response; always the last item.
    Response(Box<Response>),
}

/// A streamed response: text deltas, complete tool calls and the final [`Response`].
///
/// The stream ends after one [`StreamItem::Response`] or one error. An error carries
/// the content received so far in [`Error::partial`]. Dropping the stream cancels the
/// request.
pub struct ResponseStream {
    events: Option<EventStream>,
    assembler: Assembler,
    ready: VecDeque<StreamItem>,
    model: String,
    attempt_log: AttemptLog,
    raw: RawRecorder,
}

impl ResponseStream {
    /// Wraps the events of a model. Missing call ids are numbered from `first_call`.
    pub fn new(events: EventStream, model: impl Into<String>, first_call: usize) -> Self {
        Self {
            events: Some(events),
            assembler: Assembler::numbering_calls_from(first_call),
            ready: VecDeque::new(),
            model: model.into(),
            attempt_log: AttemptLog::default(),
            raw: RawRecorder::default(),
        }
    }

    /// Sets where the provider's bytes will be, for `raw` of the final response.
    #[must_use]
    pub fn with_raw(mut self, raw: RawRecorder) -> Self {
        self.raw = raw;
        self
    }

    /// Sets the attempt log for the final response or error.
    #[must_use]
    pub fn with_attempt_log(mut self, attempt_log: AttemptLog) -> Self {
        self.attempt_log = attempt_log;
        self
    }

    /// Returns the next item, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<StreamItem>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Consumes the stream and returns the complete response.
    pub async fn finish(mut self) -> Result<Response> {
        loop {
            match self.next().await {
                Some(Ok(StreamItem::Response(response))) => return Ok(*response),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Err(truncated()),
            }
        }
    }

    fn apply(&mut self, event: Event) {
        match &event {
            Event::Text(text) if !text.is_empty() => {
                self.ready.push_back(StreamItem::Text(text.clone()));
            }
            Event::Reasoning(text) if !text.is_empty() => {
                self.ready.push_back(StreamItem::Reasoning(text.clone()));
            }
            Event::Part(part) => self.ready.extend(shown(part)),
            // Part of the response only.
            Event::Start { .. }
            | Event::Text(_)
            | Event::Refusal(_)
            | Event::Reasoning(_)
            | Event::EndPart(_)
            | Event::ToolCallStart { .. }
            | Event::ToolCallArguments { .. }
            | Event::ToolCallEnd { .. }
            | Event::Usage(_)
            | Event::Finish(_) => {}
        }
        let calls = self.assembler.push(event);
        self.ready
            .extend(calls.into_iter().map(StreamItem::ToolCall));
        if self.assembler.is_finished() {
            self.events = None;
            let response = Box::new(self.response());
            self.ready.push_back(StreamItem::Response(response));
        }
    }

    fn response(&mut self) -> Response {
        let mut response = std::mem::take(&mut self.assembler).into_response();
        response.model = std::mem::take(&mut self.model);
        response.attempt_log = std::mem::take(&mut self.attempt_log);
        response.raw = self.raw.take();
        response
    }

    fn fail(&mut self, error: Error) -> Error {
        self.events = None;
        let mut partial = self.response();
        if let Some(attempt) = partial.attempt_log.attempts.last_mut() {
            attempt.outcome = AttemptOutcome::failed(&error);
        }
        let error = error.with_attempt_log(partial.attempt_log.clone());
        if partial.parts.is_empty() {
            error
        } else {
            error.with_partial(partial)
        }
    }
}

/// The item of a complete part. Calls are items of the assembler, all other parts of the
/// response only.
fn shown(part: &Part) -> Option<StreamItem> {
    match part {
        Part::Text(part) if !part.text.is_empty() => Some(StreamItem::Text(part.text.clone())),
        Part::Reasoning(part) if !part.text.is_empty() => {
            Some(StreamItem::Reasoning(part.text.clone()))
        }
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    }
}

fn truncated() -> Error {
    Error::new(
        ErrorKind::Truncated,
        "the stream ended without a finish event",
    )
}

impl Stream for ResponseStream {
    type Item = Result<StreamItem>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            let Some(events) = &mut self.events else {
                return Poll::Ready(None);
            };
            match ready!(events.as_mut().poll_next(cx)) {
                Some(Ok(event)) => self.apply(event),
                Some(Err(error)) => return Poll::Ready(Some(Err(self.fail(error)))),
                None => {
                    let error = self.fail(truncated());
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseStream")
            .field("model", &self.model)
            .field("open", &self.events.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, Reasoning};

    struct ScriptedEvents(VecDeque<Event>);

    impl Stream for ScriptedEvents {
        type Item = Result<Event>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }
    }

    #[tokio::test]
    async fn complete_parts_are_delivered_like_deltas() {
        let events = VecDeque::from([
            Event::Part(Part::Reasoning(Reasoning::new("hm"))),
            Event::Part(Part::text("yes")),
            Event::Part(Part::text("")),
            Event::Finish(FinishReason::Stop),
        ]);
        let mut stream = ResponseStream::new(Box::pin(ScriptedEvents(events)), "p/m", 0);
        let mut next = async || stream.next().await.unwrap().unwrap();
        assert_eq!(next().await, StreamItem::Reasoning("hm".into()));
        assert_eq!(next().await, StreamItem::Text("yes".into()));
        let StreamItem::Response(response) = next().await else {
            panic!("no response");
        };
        assert_eq!(response.parts.len(), 3);
    }
}
