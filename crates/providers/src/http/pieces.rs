//! A streamed body as it came, frame by frame.
//!
//! Read in full until the model begins to answer, since the chain decides by
//! that; then only tapped for usage, the terminator and errors. A frame that
//! tells of an error is not passed on: the caller says it in its own way.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use majordomo_llm::{Event, RawChunk, Result};
use majordomo_wire::{Frames, StreamReader};

use super::answer::Answer;

pub(super) struct Pieces {
    answer: Answer,
    reader: Box<dyn StreamReader>,
    frames: Frames,
    /// Whether the model has begun to answer.
    begun: bool,
    /// What ends the stream when the body has ended.
    last: Option<Result<RawChunk>>,
    over: bool,
}

impl Pieces {
    pub(super) fn new(answer: Answer, reader: Box<dyn StreamReader>, frames: Frames) -> Self {
        Self {
            answer,
            reader,
            frames,
            begun: false,
            last: None,
            over: false,
        }
    }

    /// The frames that are complete now.
    fn take(&mut self, bytes: Bytes) -> RawChunk {
        let mut piece = RawChunk::default();
        if let Err(error) = self.frames.push(bytes) {
            self.last = Some(Err(self.answer.fail(error)));
            return piece;
        }
        let buffer = self.frames.waiting().clone();
        let mut whole = 0;
        while let Some(frame) = self.frames.next() {
            if let Err(error) = self.read(&frame, &mut piece.events) {
                self.last = Some(Err(self.answer.fail(error)));
                break;
            }
            whole += frame.len();
        }
        piece.bytes = buffer.slice(..whole);
        self.hold_finish(&mut piece.events);
        piece
    }

    fn read(&mut self, frame: &[u8], events: &mut Vec<Event>) -> Result<()> {
        if self.begun {
            if !is_ping(frame) {
                self.answer.alive();
            }
            return self.reader.tap(frame, events);
        }
        let read = self.reader.push(frame, events);
        for event in &*events {
            self.answer.seen(event);
            self.begun |= event.is_semantic();
        }
        read
    }

    /// The last event comes alone, after all bytes.
    fn hold_finish(&mut self, events: &mut Vec<Event>) {
        if matches!(events.last(), Some(Event::Finish(_))) {
            let last = RawChunk {
                bytes: Bytes::new(),
                events: events.pop().into_iter().collect(),
            };
            self.last = Some(Ok(last));
        }
    }

    /// A body may end without the last frame's end.
    fn body_ended(&mut self) -> RawChunk {
        self.answer.close();
        let mut piece = RawChunk::default();
        let rest = self.frames.rest();
        let read = self.read(&rest, &mut piece.events);
        let finished = read.and_then(|()| self.reader.finish(&mut piece.events));
        if let Err(error) = finished {
            self.last = Some(Err(self.answer.fail(error)));
            return piece;
        }
        piece.bytes = rest;
        self.hold_finish(&mut piece.events);
        if self.last.is_none() {
            self.last = Some(Err(self.answer.truncated()));
        }
        piece
    }
}

impl Stream for Pieces {
    type Item = Result<RawChunk>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while this.last.is_none() {
            if this.over {
                return Poll::Ready(None);
            }
            let piece = match ready!(this.answer.poll_bytes(cx)) {
                Some(Ok(bytes)) => this.take(bytes),
                Some(Err(error)) => {
                    this.last = Some(Err(this.answer.fail(error)));
                    break;
                }
                None => this.body_ended(),
            };
            if !piece.bytes.is_empty() || !piece.events.is_empty() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
        ready!(this.answer.poll_end(cx));
        this.over = true;
        Poll::Ready(this.last.take())
    }
}

/// Comments and pings say that the server lives, not that the model does.
fn is_ping(frame: &[u8]) -> bool {
    frame.starts_with(b":") || frame.starts_with(b"event: ping")
}
