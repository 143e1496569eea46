//! Forwards a streamed body verbatim, frame by frame.
//!
//! Frames are fully decoded up to the first semantic event, where the chain
//! commits; after that they are only tapped for usage, the terminator and errors.
//! An error frame is not forwarded: the caller encodes the error itself.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use majordomo_llm::{Event, RawChunk, Result};
use majordomo_wire::{Frames, StreamReader};

use super::streamed_body::StreamedBody;

pub(super) struct RawChunks {
    body: StreamedBody,
    reader: Box<dyn StreamReader>,
    frames: Frames,
    /// Whether a semantic event was seen.
    committed: bool,
    /// The final item, yielded at the end of the body.
    last: Option<Result<RawChunk>>,
    over: bool,
}

impl RawChunks {
    pub(super) fn new(body: StreamedBody, reader: Box<dyn StreamReader>, frames: Frames) -> Self {
        Self {
            body,
            reader,
            frames,
            committed: false,
            last: None,
            over: false,
        }
    }

    /// Takes the frames that are now complete.
    fn take(&mut self, bytes: Bytes) -> RawChunk {
        let mut chunk = RawChunk::default();
        if let Err(error) = self.frames.push(bytes) {
            self.last = Some(Err(self.body.fail(error)));
            return chunk;
        }
        let buffer = self.frames.waiting().clone();
        let mut whole = 0;
        while let Some(frame) = self.frames.next() {
            if let Err(error) = self.read(&frame, &mut chunk.events) {
                self.last = Some(Err(self.body.fail(error)));
                break;
            }
            whole += frame.len();
        }
        chunk.bytes = buffer.slice(..whole);
        self.hold_finish(&mut chunk.events);
        chunk
    }

    fn read(&mut self, frame: &[u8], events: &mut Vec<Event>) -> Result<()> {
        if self.committed {
            if !is_ping(frame) {
                self.body.model_alive();
            }
            return self.reader.tap(frame, events);
        }
        let read = self.reader.push(frame, events);
        for event in &*events {
            self.body.event_received(event);
            self.committed |= event.is_semantic();
        }
        read
    }

    /// The finish event is yielded alone, after all bytes.
    fn hold_finish(&mut self, events: &mut Vec<Event>) {
        if matches!(events.last(), Some(Event::Finish(_))) {
            let last = RawChunk {
                bytes: Bytes::new(),
                events: events.pop().into_iter().collect(),
            };
            self.last = Some(Ok(last));
        }
    }

    /// The body may end without the last frame's terminator.
    fn body_ended(&mut self) -> RawChunk {
        self.body.close();
        let mut chunk = RawChunk::default();
        let rest = self.frames.rest();
        let read = self.read(&rest, &mut chunk.events);
        let finished = read.and_then(|()| self.reader.finish(&mut chunk.events));
        if let Err(error) = finished {
            self.last = Some(Err(self.body.fail(error)));
            return chunk;
        }
        chunk.bytes = rest;
        self.hold_finish(&mut chunk.events);
        if self.last.is_none() {
            self.last = Some(Err(self.body.truncated()));
        }
        chunk
    }
}

impl Stream for RawChunks {
    type Item = Result<RawChunk>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while this.last.is_none() {
            if this.over {
                return Poll::Ready(None);
            }
            let chunk = match ready!(this.body.poll_bytes(cx)) {
                Some(Ok(bytes)) => this.take(bytes),
                Some(Err(error)) => {
                    this.last = Some(Err(this.body.fail(error)));
                    break;
                }
                None => this.body_ended(),
            };
            if !chunk.bytes.is_empty() || !chunk.events.is_empty() {
                return Poll::Ready(Some(Ok(chunk)));
            }
        }
        ready!(this.body.poll_end(cx));
        this.over = true;
        Poll::Ready(this.last.take())
    }
}

/// SSE comments and pings prove that the server is alive, not the model.
fn is_ping(frame: &[u8]) -> bool {
    frame.starts_with(b":") || frame.starts_with(b"event: ping")
}
