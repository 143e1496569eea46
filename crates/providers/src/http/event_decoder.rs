//! Decodes a streamed body into events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use futures_core::Stream;
use majordomo_llm::{Dialect, Event, RawBody, RawRecorder, Result};
use majordomo_wire::StreamReader;

use super::streamed_body::StreamedBody;

pub(super) struct EventDecoder {
    body: StreamedBody,
    reader: Box<dyn StreamReader>,
    ready: VecDeque<Event>,
    /// The final item, yielded once `ready` is empty.
    last: Option<Result<Event>>,
    over: bool,
    scratch: Vec<Event>,
    kept: Option<KeptBytes>,
}

/// Longest stream whose bytes are kept.
const MAX_KEPT: usize = 32 << 20;

/// The bytes of the stream so far, for its final response.
struct KeptBytes {
    recorder: RawRecorder,
    dialect: Dialect,
    bytes: BytesMut,
}

impl EventDecoder {
    pub(super) fn new(body: StreamedBody, reader: Box<dyn StreamReader>) -> Self {
        Self {
            body,
            reader,
            ready: VecDeque::new(),
            last: None,
            over: false,
            scratch: Vec::new(),
            kept: None,
        }
    }

    /// Keeps the bytes for a caller who wants them.
    pub(super) fn recording(mut self, recorder: Option<RawRecorder>, dialect: Dialect) -> Self {
        self.kept = recorder.map(|recorder| KeptBytes {
            recorder,
            dialect,
            bytes: BytesMut::new(),
        });
        self
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.bytes.extend_from_slice(bytes);
        }
        self.kept.take_if(|kept| kept.bytes.len() > MAX_KEPT);
    }

    /// Queues the events that the reader produced.
    fn take(&mut self, result: Result<()>) {
        for event in std::mem::take(&mut self.scratch) {
            self.body.event_received(&event);
            match event {
                Event::Finish(_) => {
                    if let Some(kept) = self.kept.take() {
                        let raw = RawBody::new(kept.dialect, kept.bytes.freeze());
                        kept.recorder.set(raw);
                    }
                    self.last = Some(Ok(event));
                }
                event => self.ready.push_back(event),
            }
        }
        if let Err(error) = result {
            self.last = Some(Err(self.body.fail(error)));
        }
    }

    fn body_ended(&mut self) {
        self.body.close();
        let result = self.reader.finish(&mut self.scratch);
        self.take(result);
        if self.last.is_none() {
            self.last = Some(Err(self.body.truncated()));
        }
    }
}

impl Stream for EventDecoder {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.last.is_some() {
                ready!(this.body.poll_end(cx));
                this.over = true;
                return Poll::Ready(this.last.take());
            }
            if this.over {
                return Poll::Ready(None);
            }
            match ready!(this.body.poll_bytes(cx)) {
                Some(Ok(bytes)) => {
                    this.keep(&bytes);
                    let result = this.reader.push(&bytes, &mut this.scratch);
                    this.take(result);
                }
                Some(Err(error)) => this.last = Some(Err(this.body.fail(error))),
                None => this.body_ended(),
            }
        }
    }
}
