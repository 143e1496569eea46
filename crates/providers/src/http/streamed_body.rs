//! A streamed response body and its end.
//!
//! A connection is reusable only after its body was read to the end, which arrives
//! slightly after the dialect's terminator. So the last item of a stream waits
//! briefly for the end of the body.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use majordomo_llm::{ClientCredential, Error, ErrorKind, Event, Result};
use tokio::time::{Sleep, sleep};

use super::{HttpProvider, client_credential};
use crate::transport::{ByteStream, ResponseHead};

/// How long the last item waits for the end of the body.
const LINGER: Duration = Duration::from_millis(20);

pub(super) struct StreamedBody {
    /// `None` once closed.
    body: Option<ByteStream>,
    linger: Option<Pin<Box<Sleep>>>,
    /// The provider's request id. The head is dropped, because it pins its read
    /// buffer.
    request_id: Option<Box<str>>,
    provider: HttpProvider,
    model: String,
    /// The client's own credential, if the request was sent with it.
    credential: Option<ClientCredential>,
}

impl StreamedBody {
    pub(super) fn new(
        mut body: ByteStream,
        head: &ResponseHead,
        provider: HttpProvider,
        model: String,
    ) -> Self {
        body.track_events();
        Self {
            body: Some(body),
            linger: None,
            request_id: head.request_id().map(Box::from),
            provider,
            model,
            credential: None,
        }
    }

    /// Sets the client's own credential that the request was sent with.
    pub(super) fn sent_with(&mut self, credential: Option<ClientCredential>) {
        self.credential = credential;
    }

    /// The next bytes; `None` at the end of the body and after an error.
    pub(super) fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_next(cx),
            None => Poll::Ready(None),
        }
    }

    /// Resets the event timers if the event is semantic.
    pub(super) fn event_received(&mut self, event: &Event) {
        if event.is_semantic() {
            self.model_alive();
        }
    }

    /// Resets the event timers.
    pub(super) fn model_alive(&mut self) {
        if let Some(body) = &mut self.body {
            body.event_received();
        }
    }

    /// Closes the body.
    pub(super) fn close(&mut self) {
        self.body = None;
    }

    /// Closes the body and adds target and request id to the error.
    pub(super) fn fail(&mut self, error: Error) -> Error {
        self.close();
        let error = match &self.request_id {
            Some(id) => error.with_request_id(&**id),
            None => error,
        };
        let error = error.with_target(&self.provider.0.name, &self.model);
        let error = self.provider.attribute(error);
        client_credential::attribute(error, self.credential.as_ref())
    }

    /// The error for a body that ended early.
    pub(super) fn truncated(&mut self) -> Error {
        self.fail(Error::new(
            ErrorKind::Truncated,
            "the stream ended before the response was complete",
        ))
    }

    /// Waits for the end of the body after a complete response.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(());
        };
        while let Poll::Ready(chunk) = Pin::new(&mut *body).poll_next(cx) {
            if !matches!(chunk, Some(Ok(_))) {
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
