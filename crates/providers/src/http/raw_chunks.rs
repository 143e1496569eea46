//! Forwards a streamed body verbatim, frame by frame.
//!
//! Frames are fully decoded up to the first semantic event, where the chain
//! commits; after that they are only tapped for usage, the terminator and errors.
//! An error frame is not forwarded: the caller encodes the error itself.
//!
//! The content of frames that are only tapped is found without parsing them, and counted.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use majordomo_llm::{Event, OutputCount, OutputCounter, RawChunk, Result};
use majordomo_wire::{FrameContent, Frames, StreamReader, is_usage_chunk};

use super::streamed_body::StreamedBody;

pub(super) struct RawChunks {
    body: StreamedBody,
    reader: Box<dyn StreamReader>,
    frames: Frames,
    /// Whether a semantic event was seen.
    committed: bool,
    counter: OutputCounter,
    /// The final item, yielded at the end of the body.
    last: Option<Result<RawChunk>>,
    over: bool,
    /// Whether to withhold the chunk that only reports usage.
    hides_usage: bool,
}

impl RawChunks {
    pub(super) fn new(body: StreamedBody, reader: Box<dyn StreamReader>, frames: Frames) -> Self {
        Self {
            body,
            reader,
            frames,
            committed: false,
            counter: OutputCounter::default(),
            last: None,
            over: false,
            hides_usage: false,
        }
    }

    /// Withholds the chunk that only reports usage from a client that did not ask for it.
    pub(super) fn hide_usage(&mut self) {
        self.hides_usage = true;
    }

    /// Whether a frame is withheld.
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
            if let Err(error) = self.read(&frame, &mut chunk) {
                self.last = Some(Err(self.body.fail(error)));
                break;
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

    /// Reads a frame, and adds its events and content to the chunk.
    fn read(&mut self, frame: &[u8], chunk: &mut RawChunk) -> Result<()> {
        let earlier = chunk.events.len();
        let read = if self.committed {
            if !is_ping(frame) {
                self.body.model_alive();
            }
            let read = self.reader.tap(frame, &mut chunk.events);
            let (bytes, count) = self.count(frame);
            chunk.content_bytes += bytes;
            chunk.unreported += count;
            read
        } else {
            let read = self.reader.push(frame, &mut chunk.events);
            for event in &chunk.events[earlier..] {
                self.body.event_received(event);
                self.committed |= event.is_semantic();
                chunk.content_bytes += event.content_len();
                chunk.unreported += self.counter.event(event);
            }
            read
        };
        // A report covers its own frame, even if it comes first.
        let is_report = |event: &Event| matches!(event, Event::Usage(usage) if usage.output > 0);
        if chunk.events[earlier..].iter().any(is_report) {
            chunk.unreported = OutputCount::default();
        }
        read
    }

    /// Counts the content of a frame that is not decoded.
    fn count(&mut self, frame: &[u8]) -> (usize, OutputCount) {
        match self.reader.content(frame) {
            FrameContent::Delta(text) => (text.len(), self.counter.escaped(text)),
            FrameContent::Call(name) => (name.len(), self.counter.call(name)),
            FrameContent::WholeCall { name, arguments } => {
                let mut count = self.counter.call(name);
                count += self.counter.escaped(arguments);
                (name.len() + arguments.len(), count)
            }
            _ => (0, OutputCount::default()),
        }
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
        let read = self.read(&rest, &mut chunk);
        let finished = read.and_then(|()| self.reader.finish(&mut chunk.events));
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
