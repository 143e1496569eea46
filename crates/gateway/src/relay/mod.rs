//! Relays a committed stream to the client.
//!
//! The chain (`majordomo::chain`) decides when a stream commits (`commit.rs`) and how an
//! earlier failure is handled (`retry.rs`); here, failover is over.
//!
//! Bytes in the client's dialect are forwarded unchanged; events are encoded by the client's
//! codec. Chunks are sent as soon as they are ready. After the first bytes, a failure ends the
//! stream with the dialect's error, never with a synthesized ending, and the connection is
//! closed.
//!
//! May use `client_error`, `clock`, `exchange`, `fronts`, `heavy_lane` and `refusal`.

mod gemini_array;
mod joined_chunks;
mod keep_alive;
mod reply;

use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use majordomo::chain::{ForwardedStream, Forwarding};
use majordomo::llm::RawChunkStream;
use majordomo::{BoxFuture, Error, ErrorKind, Event, EventStream, Result};
use majordomo_wire::{ForwardedCalls, StreamWriter};

pub(crate) use gemini_array::GeminiArray;
pub(crate) use reply::{ReplyOptions, reply};

use self::joined_chunks::JoinedChunks;
use self::keep_alive::KeepAlive;
use crate::client_error::for_client;
use crate::exchange::Exchange;
use crate::fronts::Front;
use crate::heavy_lane::LaneHandle;
use crate::refusal::RequestError;

/// Maximum bytes that are batched into one frame.
const MAX_BATCH: usize = 32 * 1024;
/// Dropping up to this many changes is cheap.
const MANY_CHANGES: usize = 1_000;

/// The stream ended with an error that was reported to the client; the connection must
/// be closed.
#[derive(Debug)]
pub(crate) struct BrokenStream;

impl fmt::Display for BrokenStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response was interrupted")
    }
}

impl std::error::Error for BrokenStream {}

/// One response as a stream of bytes.
pub(crate) struct Relay {
    state: RelayState,
    front: Front,
    exchange: Exchange,
    keep_alive: Option<KeepAlive>,
    array: Option<GeminiArray>,
    /// The calls of a stream that is forwarded as bytes.
    calls: ForwardedCalls,
    /// Whether events with content were encoded.
    content_sent: bool,
    /// Set for a request on the heavy lane.
    heavy: Option<LaneHandle>,
}

enum RelayState {
    /// No target has responded yet; the client gets keep-alives.
    Opening(BoxFuture<'static, Result<Forwarding>>, Opener),
    /// The writer is created with the first event, which may name the model.
    Events(EventStream, Option<Box<dyn StreamWriter>>, Opener),
    Raw(RawChunkStream, Opener),
    /// The error is written; the connection is closed once it is flushed.
    Flushing(bool),
    Ended,
}

/// Creates the writer, with the model name that the upstream reported, if any.
pub(crate) type Opener = Box<dyn Fn(Option<&str>) -> Box<dyn StreamWriter> + Send>;

impl Relay {
    /// A relay of a stream past its commit point.
    pub(crate) fn begun(
        front: Front,
        exchange: Exchange,
        stream: ForwardedStream,
        opener: Opener,
        array: bool,
    ) -> Self {
        let mut exchange = exchange;
        exchange.start_stream();
        Self {
            state: RelayState::of(stream, opener),
            front,
            exchange,
            keep_alive: None,
            array: array.then(GeminiArray::default),
            calls: ForwardedCalls::new(front.protocol(), 0),
            content_sent: false,
            heavy: None,
        }
    }

    /// A relay of a stream that is still opening; the client gets keep-alives.
    pub(crate) fn opening(
        front: Front,
        exchange: Exchange,
        opening: BoxFuture<'static, Result<Forwarding>>,
        opener: Opener,
    ) -> Self {
        let mut exchange = exchange;
        exchange.start_stream();
        Self {
            state: RelayState::Opening(opening, opener),
            front,
            exchange,
            keep_alive: None,
            array: None,
            calls: ForwardedCalls::new(front.protocol(), 0),
            content_sent: false,
            heavy: None,
        }
    }

    /// Numbers the calls that the provider sends without an id.
    pub(crate) fn numbering_calls_from(mut self, first: usize) -> Self {
        self.calls = ForwardedCalls::new(self.front.protocol(), first);
        self
    }

    /// Drops what remains of a heavy request on the lane.
    pub(crate) fn dropped_by(mut self, heavy: Option<LaneHandle>) -> Self {
        self.heavy = heavy;
        self
    }

    /// The lane, if dropping this is expensive: every lost field is a change, and a
    /// large body may have very many.
    pub(crate) fn take_heavy(&mut self) -> Option<LaneHandle> {
        let heavy = self.heavy.take()?;
        (self.exchange.changes().len() > MANY_CHANGES).then_some(heavy)
    }

    /// Sends a keep-alive after each such silence; immediately if the client
    /// has already waited for the stream to open.
    pub(crate) fn keep_alive(mut self, every: Option<Duration>) -> Self {
        let waited = matches!(self.state, RelayState::Opening(..));
        self.keep_alive = every.map(|every| match waited {
            true => KeepAlive::due(every),
            false => KeepAlive::new(every),
        });
        self
    }

    /// Polls the next bytes for the client.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BrokenStream>>> {
        let polled = self.poll_response(cx);
        let Some(keep_alive) = &mut self.keep_alive else {
            return polled;
        };
        match polled {
            Poll::Ready(Some(Ok(_))) => keep_alive.record_output(),
            Poll::Pending if keep_alive.poll(cx).is_ready() => {
                if let Some(frame) = self.front.keep_alive() {
                    return Poll::Ready(Some(Ok(Bytes::from_static(frame))));
                }
            }
            _ => {}
        }
        polled
    }

    fn poll_response(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenStream>>> {
        loop {
            match &mut self.state {
                RelayState::Opening(opening, _) => {
                    match std::task::ready!(opening.as_mut().poll(cx)) {
                        Ok(forwarding) => self.opened(forwarding),
                        Err(error) => return self.fail(&error.into(), BytesMut::new()),
                    }
                }
                RelayState::Events(..) => return self.poll_events(cx),
                RelayState::Raw(..) => return self.poll_raw(cx),
                RelayState::Flushing(flushed @ false) => {
                    // Pending once, so that the connection flushes the error.
                    *flushed = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                RelayState::Flushing(true) => {
                    self.state = RelayState::Ended;
                    return Poll::Ready(Some(Err(BrokenStream)));
                }
                RelayState::Ended => return Poll::Ready(None),
            }
        }
    }

    fn opened(&mut self, forwarding: Forwarding) {
        self.exchange
            .served(&forwarding.target, &forwarding.attempt_log);
        let state = std::mem::replace(&mut self.state, RelayState::Ended);
        if let RelayState::Opening(_, opener) = state {
            self.state = RelayState::of(forwarding.stream, opener);
        }
    }

    /// Encodes every event that is ready.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenStream>>> {
        let mut out = BytesMut::new();
        loop {
            let RelayState::Events(events, writer, opener) = &mut self.state else {
                return Poll::Ready(None);
            };
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    if self.content_sent && matches!(event, Event::Start { .. }) {
                        return self.fail(&started_over().into(), out);
                    }
                    self.content_sent |= event.is_semantic();
                    self.exchange.observe(&event);
                    let writer = writer.get_or_insert_with(|| opener(reported_model(&event)));
                    writer.write(&event, &mut out);
                    if matches!(event, Event::Finish(_)) {
                        self.exchange.add_losses(writer.losses());
                        self.state = RelayState::Ended;
                        return self.emit(out.freeze());
                    }
                    if out.len() >= MAX_BATCH {
                        return self.emit(out.freeze());
                    }
                }
                Poll::Ready(Some(Err(error))) => return self.fail(&error.into(), out),
                Poll::Ready(None) => {
                    self.state = RelayState::Ended;
                    return self.emit(out.freeze());
                }
                Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Pending => return self.emit(out.freeze()),
            }
        }
    }

    fn emit(&mut self, bytes: Bytes) -> Poll<Option<Result<Bytes, BrokenStream>>> {
        let bytes = match &mut self.array {
            Some(array) => array.convert(&bytes, matches!(self.state, RelayState::Ended)),
            None => bytes,
        };
        if bytes.is_empty() && matches!(self.state, RelayState::Ended) {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    /// Forwards every chunk that is ready.
    fn poll_raw(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenStream>>> {
        let mut out = JoinedChunks::default();
        loop {
            let RelayState::Raw(chunks, _) = &mut self.state else {
                return Poll::Ready(None);
            };
            match chunks.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    for event in &chunk.events {
                        self.exchange.observe(event);
                    }
                    let ended = matches!(chunk.events.last(), Some(Event::Finish(_)));
                    out.push(self.calls.complete_frames(chunk.bytes));
                    if ended {
                        self.state = RelayState::Ended;
                    }
                    if ended || out.len() >= MAX_BATCH {
                        return self.emit(out.into_bytes());
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    return self.fail(&error.into(), out.into_mut());
                }
                Poll::Ready(None) => {
                    self.state = RelayState::Ended;
                    return self.emit(out.into_bytes());
                }
                Poll::Pending if out.len() == 0 => return Poll::Pending,
                Poll::Pending => return self.emit(out.into_bytes()),
            }
        }
    }

    /// Ends the stream with its dialect's error. None if it has already ended.
    pub(crate) fn cut(
        &mut self,
        error: &RequestError,
    ) -> Option<Poll<Option<Result<Bytes, BrokenStream>>>> {
        let over = matches!(self.state, RelayState::Flushing(_) | RelayState::Ended);
        (!over).then(|| self.fail(error, BytesMut::new()))
    }

    /// Appends the dialect's error to `out` and ends the stream.
    fn fail(
        &mut self,
        error: &RequestError,
        mut out: BytesMut,
    ) -> Poll<Option<Result<Bytes, BrokenStream>>> {
        let state = std::mem::replace(&mut self.state, RelayState::Flushing(false));
        let writer = match state {
            RelayState::Events(_, writer, opener) => Some(writer.unwrap_or_else(|| opener(None))),
            RelayState::Opening(_, opener) | RelayState::Raw(_, opener) => Some(opener(None)),
            RelayState::Flushing(_) | RelayState::Ended => None,
        };
        let shown = for_client(error);
        if let Some(mut writer) = writer {
            writer.fail_with(&shown, &mut out);
        }
        self.exchange.interrupted(error, shown.class);
        self.emit(out.freeze())
    }
}

impl RelayState {
    fn of(stream: ForwardedStream, opener: Opener) -> Self {
        match stream {
            ForwardedStream::Pieces(chunks) => Self::Raw(chunks, opener),
            ForwardedStream::Events(events) => Self::Events(events, None, opener),
        }
    }
}

/// The provider began a second response, and the first one cannot be withdrawn.
fn started_over() -> Error {
    Error::new(
        ErrorKind::Truncated,
        "the provider started its response over",
    )
}

fn reported_model(first: &Event) -> Option<&str> {
    match first {
        Event::Start { model, .. } => model.as_deref(),
        _ => None,
    }
}
