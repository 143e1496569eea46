//! A typed answer while it is being written.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use majordomo_llm::{Error, ErrorKind, Response, ResponseStream, Result, StreamItem};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{TypedOutput, TypedResponse};

/// A glimpse costs reading the whole text again, so one comes only when the text
/// has grown by this part of itself. Short answers show every delta.
const GROWTH: usize = 64;

/// One item of an [`ObjectStream`].
#[derive(Clone, Debug)]
pub enum ObjectItem<T> {
    /// What there is so far: fields that have come, texts as far as they came.
    Partial(Value),
    /// The checked value; always the last item.
    Done(Box<TypedResponse<T>>),
}

/// A typed answer as it grows. It ends after one [`ObjectItem::Done`] or one
/// error. Dropping it cancels the request.
pub struct ObjectStream<T> {
    stream: ResponseStream,
    output: TypedOutput<T>,
    text: String,
    /// The text's length at the last glimpse.
    seen: usize,
    last: Option<Value>,
}

impl<T: DeserializeOwned> ObjectStream<T> {
    pub(super) fn new(stream: ResponseStream, output: TypedOutput<T>) -> Self {
        Self {
            stream,
            output,
            text: String::new(),
            seen: 0,
            last: None,
        }
    }

    /// The next item; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<ObjectItem<T>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Reads to the end and gives the value with its response.
    pub async fn finish(mut self) -> Result<TypedResponse<T>> {
        loop {
            match self.next().await {
                Some(Ok(ObjectItem::Done(answer))) => return Ok(*answer),
                Some(Ok(ObjectItem::Partial(_))) => {}
                Some(Err(error)) => return Err(error),
                None => {
                    let text = "the stream was read to its end before";
                    return Err(Error::new(ErrorKind::Truncated, text));
                }
            }
        }
    }

    /// A new glimpse, if the text grew enough to show one.
    fn grow(&mut self, delta: &str) -> Option<ObjectItem<T>> {
        self.text.push_str(delta);
        if self.text.len() - self.seen <= self.seen / GROWTH {
            return None;
        }
        self.seen = self.text.len();
        let glimpse = self.output.glimpse(&self.text)?;
        if self.last.as_ref() == Some(&glimpse) {
            return None;
        }
        self.last = Some(glimpse.clone());
        Some(ObjectItem::Partial(glimpse))
    }

    fn done(&self, response: Response) -> Result<ObjectItem<T>> {
        match self.output.read_response(&response) {
            Ok(value) => Ok(ObjectItem::Done(Box::new(TypedResponse {
                value,
                response,
            }))),
            Err(why) => Err(why.into_error(response)),
        }
    }
}

/// Nothing in it is pinned in place.
impl<T> Unpin for ObjectStream<T> {}

impl<T: DeserializeOwned> Stream for ObjectStream<T> {
    type Item = Result<ObjectItem<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let item = match ready!(Pin::new(&mut self.stream).poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(item)) => item,
            };
            match item {
                StreamItem::Text(delta) => {
                    if let Some(glimpse) = self.grow(&delta) {
                        return Poll::Ready(Some(Ok(glimpse)));
                    }
                }
                StreamItem::Response(response) => {
                    return Poll::Ready(Some(self.done(*response)));
                }
                StreamItem::Reasoning(_) | StreamItem::ToolCall(_) => {}
            }
        }
    }
}

impl<T> fmt::Debug for ObjectStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStream")
            .field("stream", &self.stream)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}
