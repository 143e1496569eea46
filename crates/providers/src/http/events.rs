//! A streamed body as events.
//!
//! The connection can be used again only when the body was read to its end,
//! which comes a moment after the protocol's own terminator. So the last event
//! waits for the end of the body, but not for long.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use majordomo_llm::{Error, ErrorKind, Event, Result};
use majordomo_wire::StreamReader;
use tokio::time::{Sleep, sleep};

use super::HttpProvider;
use crate::transport::{ByteStream, Head};

/// How long the last event may wait for the end of the body.
const LINGER: Duration = Duration::from_millis(20);

pub(super) struct Events {
    /// None when nothing more is read.
    body: Option<ByteStream>,
    reader: Box<dyn StreamReader>,
    ready: VecDeque<Event>,
    /// What ends the stream once `ready` is empty.
    last: Option<Result<Event>>,
    linger: Option<Pin<Box<Sleep>>>,
    head: Head,
    provider: HttpProvider,
    model: String,
    scratch: Vec<Event>,
}

impl Events {
    pub(super) fn new(
        mut body: ByteStream,
        reader: Box<dyn StreamReader>,
        head: Head,
        provider: HttpProvider,
        model: String,
    ) -> Self {
        body.events_will_be_told();
        Self {
            body: Some(body),
            reader,
            ready: VecDeque::new(),
            last: None,
            linger: None,
            head,
            provider,
            model,
            scratch: Vec::new(),
        }
    }

    /// Takes what the reader made of some bytes, or of their end.
    fn take(&mut self, result: Result<()>) {
        for event in std::mem::take(&mut self.scratch) {
            if let (true, Some(body)) = (event.is_semantic(), &mut self.body) {
                body.event_seen();
            }
            match event {
                Event::Finish(_) => self.last = Some(Ok(event)),
                event => self.ready.push_back(event),
            }
        }
        if let Err(error) = result {
            self.fail(error);
        } else if self.last.is_some() {
            self.linger = Some(Box::pin(sleep(LINGER)));
        }
    }

    fn fail(&mut self, error: Error) {
        let error = self.head.describe(error);
        let error = error.with_target(&self.provider.0.name, &self.model);
        self.last = Some(Err(self.provider.named(error)));
        self.body = None;
    }

    fn body_ended(&mut self) {
        self.body = None;
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.reader.finish(&mut scratch);
        self.scratch = scratch;
        self.take(result);
        if self.last.is_none() {
            self.fail(Error::new(
                ErrorKind::Truncated,
                "the stream ended before the model said that it was done",
            ));
        }
    }

    /// The answer is complete: only the end of the body is waited for.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (Some(body), Some(linger)) = (&mut self.body, &mut self.linger) else {
            return Poll::Ready(());
        };
        while let Poll::Ready(piece) = Pin::new(&mut *body).poll_next(cx) {
            if !matches!(piece, Some(Ok(_))) {
                self.body = None;
                return Poll::Ready(());
            }
        }
        linger.as_mut().poll(cx)
    }
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.last.is_some() {
                if this.poll_end(cx).is_pending() {
                    return Poll::Pending;
                }
                this.body = None;
                return Poll::Ready(this.last.take());
            }
            let Some(body) = &mut this.body else {
                return Poll::Ready(None);
            };
            match std::task::ready!(Pin::new(body).poll_next(cx)) {
                Some(Ok(bytes)) => {
                    let result = this.reader.push(&bytes, &mut this.scratch);
                    this.take(result);
                }
                Some(Err(error)) => this.fail(error),
                None => this.body_ended(),
            }
        }
    }
}
