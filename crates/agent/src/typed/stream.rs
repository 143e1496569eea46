//! Streamed typed responses.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use majordomo_llm::{Error, ErrorKind, Response, ResponseStream, Result, StreamItem};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{TypedOutput, TypedResponse};

/// A partial value requires parsing the whole text again, so it is produced only when the
/// text has grown by this fraction. Short responses show every delta.
const GROWTH_DIVISOR: usize = 64;

/// One item of an [`ObjectStream`].
#[derive(Clone, Debug)]
pub enum ObjectItem<T> {
    /// The value so far: complete fields, and strings as far as received.
    Partial(Value),
    /// The validated value; always the last item.
    Done(Box<TypedResponse<T>>),
}

/// A stream of a growing value. It ends after one [`ObjectItem::Done`] or one error.
/// Dropping it cancels the request.
pub struct ObjectStream<T> {
    stream: ResponseStream,
    output: TypedOutput<T>,
    text: String,
    /// The length of the text when it was last parsed.
    parsed_len: usize,
    last: Option<Value>,
}

impl<T: DeserializeOwned> ObjectStream<T> {
    pub(super) fn new(stream: ResponseStream, output: TypedOutput<T>) -> Self {
        Self {
            stream,
            output,
            text: String::new(),
            parsed_len: 0,
            last: None,
        }
    }

    /// Returns the next item, or `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<ObjectItem<T>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Consumes the stream and returns the value with its response.
    pub async fn finish(mut self) -> Result<TypedResponse<T>> {
        loop {
            match self.next().await {
                Some(Ok(ObjectItem::Done(answer))) => return Ok(*answer),
                Some(Ok(ObjectItem::Partial(_))) => {}
                Some(Err(error)) => return Err(error),
                None => {
                    let text = "the stream has already ended";
                    return Err(Error::new(ErrorKind::Truncated, text));
                }
            }
        }
    }

    /// Returns a new partial value if the text has grown enough.
    fn grow(&mut self, delta: &str) -> Option<ObjectItem<T>> {
        self.text.push_str(delta);
        if self.text.len() - self.parsed_len <= self.parsed_len / GROWTH_DIVISOR {
            return None;
        }
        self.parsed_len = self.text.len();
        let partial = self.output.parse_partial(&self.text)?;
        if self.last.as_ref() == Some(&partial) {
            return None;
        }
        self.last = Some(partial.clone());
        Some(ObjectItem::Partial(partial))
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

/// No field is structurally pinned.
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
                    if let Some(partial) = self.grow(&delta) {
                        return Poll::Ready(Some(Ok(partial)));
                    }
                }
                StreamItem::Response(response) => {
                    return Poll::Ready(Some(self.done(*response)));
                }
                _ => {}
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
