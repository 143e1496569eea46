//! Forwards a streamed body verbatim, frame by frame.
//!
//! Frames are fully decoded up to the first semantic event, where the chain
//! commits; after that they are only tapped for usage, the terminator and errors.
//! An error frame is not forwarded: the caller encodes the error itself.
//!
//! The content of frames that are only tapped is estimated: all of a stream's frames wrap
//! it in about as many bytes as the first one does.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use majordomo_llm::{Event, RawChunk, Result};
use majordomo_wire::{Frames, StreamReader, is_usage_chunk};

use super::streamed_body::StreamedBody;

pub(super) struct RawChunks {
    body: StreamedBody,
    reader: Box<dyn StreamReader>,
    frames: Frames,
    /// Whether a semantic event was seen.
    committed: bool,
    /// Bytes of a frame that are not content.
    overhead: usize,
    /// The final item, yielded at the end of the body.
    last: Option<Result<RawChunk>>,
    over: bool,
    /// Whether the chunk that only reports usage is not forwarded.
    hides_usage: bool,
}

impl RawChunks {
    pub(super) fn new(body: StreamedBody, reader: Box<dyn StreamReader>, frames: Frames) -> Self {
        Self {
            body,
            reader,
            frames,
            committed: false,
            overhead: 0,
            last: None,
            over: false,
            hides_usage: false,
        }
    }

    /// Keeps the chunk that only reports usage from a client that did not ask for it.
    pub(super) fn hide_usage(&mut self) {
        self.hides_usage = true;
    }

    /// Whether a frame is not forwarded.
    fn hides(&self, frame: &[u8]) -> bool {
        self.hides_usage && is_usage_chunk(frame)
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
        let mut hidden = Vec::new();
        while let Some(frame) = self.frames.next() {
            match self.read(&frame, &mut chunk.events) {
                Ok(content) => chunk.content_bytes += content,
                Err(error) => {
                    self.last = Some(Err(self.body.fail(error)));
                    break;
                }
            }
            if self.hides(&frame) {
                hidden.push(whole..whole + frame.len());
            }
            whole += frame.len();
        }
        chunk.bytes = without(buffer.slice(..whole), &hidden);
        self.hold_finish(&mut chunk.events);
        chunk
    }

    /// Reads a frame and returns about how many bytes of content it carries.
    fn read(&mut self, frame: &[u8], events: &mut Vec<Event>) -> Result<usize> {
        if self.committed {
            let ping = is_ping(frame);
            if !ping {
                self.body.model_alive();
            }
            self.reader.tap(frame, events)?;
            let content = frame.len().saturating_sub(self.overhead);
            return Ok(if ping { 0 } else { content });
        }
        let earlier = events.len();
        let read = self.reader.push(frame, events);
        let mut content = 0;
        for event in &events[earlier..] {
            self.body.event_received(event);
            self.committed |= event.is_semantic();
            content += event.content_len();
        }
        self.overhead = frame.len().saturating_sub(content);
        read.map(|()| content)
    }

    /// The finish event is yielded alone, after all bytes.
    fn hold_finish(&mut self, events: &mut Vec<Event>) {
        if matches!(events.last(), Some(Event::Finish(_))) {
            let last = RawChunk {
                events: events.pop().into_iter().collect(),
                ..RawChunk::default()
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
        let finished = read.and_then(|content| {
            chunk.content_bytes = content;
            self.reader.finish(&mut chunk.events)
        });
        if let Err(error) = finished {
            self.last = Some(Err(self.body.fail(error)));
            return chunk;
        }
        if !self.hides(&rest) {
            chunk.bytes = rest;
        }
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

/// The bytes without some ranges, which are in order.
fn without(bytes: Bytes, ranges: &[Range<usize>]) -> Bytes {
    if ranges.is_empty() {
        return bytes;
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for range in ranges {
        kept.extend_from_slice(&bytes[from..range.start]);
        from = range.end;
    }
    kept.extend_from_slice(&bytes[from..]);
    kept.into()
}

/// SSE comments and pings prove that the server is alive, not the model.
fn is_ping(frame: &[u8]) -> bool {
    frame.starts_with(b":") || frame.starts_with(b"event: ping")
}
