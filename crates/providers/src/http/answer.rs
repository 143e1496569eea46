//! A streamed body on its way in, and how it ends.
//!
//! The connection can be used again only when the body was read to its end,
//! which comes a moment after the protocol's own terminator. So the last item of
//! a stream waits for the end of the body, but not for long.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use majordomo_llm::{Error, ErrorKind, Event, Result};
use tokio::time::{Sleep, sleep};

use super::HttpProvider;
use crate::transport::{ByteStream, Head};

/// How long the last item may wait for the end of the body.
const LINGER: Duration = Duration::from_millis(20);

pub(super) struct Answer {
    /// None when nothing more is read.
    body: Option<ByteStream>,
    linger: Option<Pin<Box<Sleep>>>,
    /// The provider's. Its head is not kept: it holds the buffer that it came in.
    request_id: Option<Box<str>>,
    provider: HttpProvider,
    model: String,
}

impl Answer {
    pub(super) fn new(
        mut body: ByteStream,
        head: &Head,
        provider: HttpProvider,
        model: String,
    ) -> Self {
        body.events_will_be_told();
        Self {
            body: Some(body),
            linger: None,
            request_id: head.request_id().map(Box::from),
            provider,
            model,
        }
    }

    /// The next bytes; `None` at the end of the body, and after a failure.
    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    /// Tells the timers of an event that carries something.
    pub(super) fn seen(&mut self, event: &Event) {
        if event.is_semantic() {
            self.alive();
        }
    }

    /// Tells the timers that the model goes on.
    pub(super) fn alive(&mut self) {
        if let Some(body) = &mut self.body {
            body.event_seen();
        }
    }

    /// Nothing more is read.
    pub(super) fn close(&mut self) {
        self.body = None;
    }

    /// Reads no more, and says whom the error happened to.
    pub(super) fn fail(&mut self, error: Error) -> Error {
        self.close();
        let error = match &self.request_id {
            Some(id) => error.with_request_id(&**id),
            None => error,
        };
        let error = error.with_target(&self.provider.0.name, &self.model);
        self.provider.named(error)
    }

    /// The error of a body that ended too early.
    pub(super) fn truncated(&mut self) -> Error {
        self.fail(Error::new(
            ErrorKind::Truncated,
            "the stream ended before the model said that it was done",
        ))
    }

    /// The answer is complete: only the end of the body is waited for.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(());
        };
        while let Poll::Ready(piece) = Pin::new(&mut *body).poll_next(cx) {
            if !matches!(piece, Some(Ok(_))) {
                self.close();
                return Poll::Ready(());
            }
        }
        let linger = self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        let over = linger.as_mut().poll(cx);
        if over.is_ready() {
            self.close();
        }
        over
    }
}
