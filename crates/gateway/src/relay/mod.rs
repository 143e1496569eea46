//! Relays a streamed response to the client.
//!
//! Bytes in the client's dialect are forwarded unchanged; events are encoded by the
//! client's codec. Whatever is ready is sent immediately. After the first bytes, a
//! failure ends the stream with the dialect's error, never with a synthesized ending,
//! and the connection is closed.
//!
//! May use `client_error`, `exchange`, `fronts` and `heavy_lane`.

mod array;
mod joined;
mod keep_alive;
mod reply;

use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use majordomo::{
    BoxFuture, Error, Event, EventStream, ForwardedStream, Forwarding, RawChunkStream, Result,
};
use majordomo_wire::StreamWriter;

pub(crate) use array::Array;
pub(crate) use reply::{Asked, reply};

use self::joined::Joined;
use self::keep_alive::KeepAlive;
use crate::client_error::for_client;
use crate::exchange::Exchange;
use crate::fronts::Front;
use crate::heavy_lane::Heavy;

/// Most bytes that are batched into one frame.
const FRAME: usize = 32 * 1024;
/// Up to this many changes are cheap to drop.
const MANY_CHANGES: usize = 1_000;

/// The stream ended with an error that was reported to the client; the connection must
/// be closed.
#[derive(Debug)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response was interrupted")
    }
}

impl std::error::Error for Broken {}

/// One response as a stream of bytes.
pub(crate) struct Relay {
    state: State,
    front: Front,
    exchange: Exchange,
    keep_alive: Option<KeepAlive>,
    array: Option<Array>,
    /// Set for a request on the heavy lane.
    heavy: Option<Heavy>,
}

enum State {
    /// No target has responded yet; the client gets keep-alives.
    Opening(BoxFuture<'static, Result<Forwarding>>, Opener),
    /// The writer is created with the first event, which may name the model.
    Events(EventStream, Option<Box<dyn StreamWriter>>, Opener),
    Pieces(RawChunkStream, Opener),
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
        answer: ForwardedStream,
        opener: Opener,
        array: bool,
    ) -> Self {
        let mut exchange = exchange;
        exchange.streams();
        Self {
            state: State::of(answer, opener),
            front,
            exchange,
            keep_alive: None,
            array: array.then(Array::default),
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
        exchange.streams();
        Self {
            state: State::Opening(opening, opener),
            front,
            exchange,
            keep_alive: None,
            array: None,
            heavy: None,
        }
    }

    /// Drops what remains of a heavy request on the lane.
    pub(crate) fn dropped_by(mut self, heavy: Option<Heavy>) -> Self {
        self.heavy = heavy;
        self
    }

    /// The lane, if dropping this is expensive: every lost field is a change, and a
    /// large body may have very many.
    pub(crate) fn take_heavy(&mut self) -> Option<Heavy> {
        let heavy = self.heavy.take()?;
        (self.exchange.changes().len() > MANY_CHANGES).then_some(heavy)
    }

    /// Sends a keep-alive after each such time of silence; immediately if the client
    /// has already waited for the stream to open.
    pub(crate) fn keep_alive(mut self, every: Option<Duration>) -> Self {
        let waited = matches!(self.state, State::Opening(..));
        self.keep_alive = every.map(|every| match waited {
            true => KeepAlive::due(every),
            false => KeepAlive::new(every),
        });
        self
    }

    /// Polls the next bytes for the client.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let polled = self.poll_answer(cx);
        let Some(keep_alive) = &mut self.keep_alive else {
            return polled;
        };
        match polled {
            Poll::Ready(Some(Ok(_))) => keep_alive.said(),
            Poll::Pending if keep_alive.poll(cx).is_ready() => {
                if let Some(sign) = self.front.keep_alive() {
                    return Poll::Ready(Some(Ok(Bytes::from_static(sign))));
                }
            }
            _ => {}
        }
        polled
    }

    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            match &mut self.state {
                State::Opening(opening, _) => match std::task::ready!(opening.as_mut().poll(cx)) {
                    Ok(forwarding) => self.opened(forwarding),
                    Err(error) => return self.fail(&for_client(error), BytesMut::new()),
                },
                State::Events(..) => return self.poll_events(cx),
                State::Pieces(..) => return self.poll_pieces(cx),
                State::Flushing(flushed @ false) => {
                    // Pending once, so that the connection flushes the error.
                    *flushed = true;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                State::Flushing(true) => {
                    self.state = State::Ended;
                    return Poll::Ready(Some(Err(Broken)));
                }
                State::Ended => return Poll::Ready(None),
            }
        }
    }

    fn opened(&mut self, forwarding: Forwarding) {
        self.exchange
            .served(&forwarding.target, &forwarding.attempt_log);
        let state = std::mem::replace(&mut self.state, State::Ended);
        if let State::Opening(_, opener) = state {
            self.state = State::of(forwarding.stream, opener);
        }
    }

    /// Encodes every event that is ready.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let mut out = BytesMut::new();
        loop {
            let State::Events(events, writer, opener) = &mut self.state else {
                return Poll::Ready(None);
            };
            match events.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => {
                    self.exchange.saw(&event);
                    let writer = writer.get_or_insert_with(|| opener(named(&event)));
                    writer.write(&event, &mut out);
                    if matches!(event, Event::Finish(_)) {
                        self.exchange.lost(writer.losses());
                        self.state = State::Ended;
                        return self.give(out.freeze());
                    }
                    if out.len() >= FRAME {
                        return self.give(out.freeze());
                    }
                }
                Poll::Ready(Some(Err(error))) => return self.fail(&error, out),
                Poll::Ready(None) => {
                    self.state = State::Ended;
                    return self.give(out.freeze());
                }
                Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Pending => return self.give(out.freeze()),
            }
        }
    }

    fn give(&mut self, bytes: Bytes) -> Poll<Option<Result<Bytes, Broken>>> {
        let bytes = match &mut self.array {
            Some(array) => array.convert(&bytes, matches!(self.state, State::Ended)),
            None => bytes,
        };
        if bytes.is_empty() && matches!(self.state, State::Ended) {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(bytes)))
    }

    /// Forwards every chunk that is ready.
    fn poll_pieces(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let mut out = Joined::default();
        loop {
            let State::Pieces(pieces, _) = &mut self.state else {
                return Poll::Ready(None);
            };
            match pieces.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    for event in &piece.events {
                        self.exchange.saw(event);
                    }
                    let ended = matches!(piece.events.last(), Some(Event::Finish(_)));
                    out.push(piece.bytes);
                    if ended {
                        self.state = State::Ended;
                    }
                    if ended || out.len() >= FRAME {
                        return self.give(out.into_bytes());
                    }
                }
                Poll::Ready(Some(Err(error))) => return self.fail(&error, out.into_mut()),
                Poll::Ready(None) => {
                    self.state = State::Ended;
                    return self.give(out.into_bytes());
                }
                Poll::Pending if out.len() == 0 => return Poll::Pending,
                Poll::Pending => return self.give(out.into_bytes()),
            }
        }
    }

    /// Ends the stream with its dialect's error. None if it has already ended.
    pub(crate) fn cut(&mut self, error: &Error) -> Option<Poll<Option<Result<Bytes, Broken>>>> {
        let over = matches!(self.state, State::Flushing(_) | State::Ended);
        (!over).then(|| self.fail(error, BytesMut::new()))
    }

    /// Appends the dialect's error to `out` and ends the stream.
    fn fail(&mut self, error: &Error, mut out: BytesMut) -> Poll<Option<Result<Bytes, Broken>>> {
        let state = std::mem::replace(&mut self.state, State::Flushing(false));
        let writer = match state {
            State::Events(_, writer, opener) => Some(writer.unwrap_or_else(|| opener(None))),
            State::Opening(_, opener) | State::Pieces(_, opener) => Some(opener(None)),
            State::Flushing(_) | State::Ended => None,
        };
        if let Some(mut writer) = writer {
            writer.fail(error, &mut out);
        }
        self.exchange.broke(error);
        self.give(out.freeze())
    }
}

impl State {
    fn of(answer: ForwardedStream, opener: Opener) -> Self {
        match answer {
            ForwardedStream::Pieces(pieces) => Self::Pieces(pieces, opener),
            ForwardedStream::Events(events) => Self::Events(events, None, opener),
        }
    }
}

fn named(first: &Event) -> Option<&str> {
    match first {
        Event::Start { model, .. } => model.as_deref(),
        _ => None,
    }
}
