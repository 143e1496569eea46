//! The body of an answer as it comes.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use http_body::Body;
use hyper::body::Incoming;
use majordomo_limits::Charge;
use majordomo_llm::{Error, ErrorKind, Result};

use super::fault;
use super::pool::{Link, Place};
use super::timers::Timers;

/// The bytes of a streamed answer, with the idle timer running.
///
/// It ends after its last byte or its first error. Dropping it earlier closes
/// the connection (HTTP/1) or resets the stream (HTTP/2) at once.
///
/// The end of the bytes is not the end of an answer: only the protocol's own
/// terminator is.
pub struct ByteStream {
    open: Option<Open>,
}

struct Open {
    body: Incoming,
    link: Link,
    place: Arc<Place>,
    timers: Timers,
}

impl ByteStream {
    pub(crate) fn new(body: Incoming, link: Link, place: Arc<Place>, timers: Timers) -> Self {
        Self {
            open: Some(Open {
                body,
                link,
                place,
                timers,
            }),
        }
    }

    /// Promises that [`event_seen`](Self::event_seen) is called for every event
    /// that carries something, so that the event-idle timer can run.
    pub fn events_will_be_told(&mut self) {
        if let Some(open) = &mut self.open {
            open.timers.events_will_be_told();
        }
    }

    /// Stops the first-event timer: the codec has seen an event that carries
    /// something. The transport cannot know, it sees bytes only.
    pub fn event_seen(&mut self) {
        if let Some(open) = &mut self.open {
            open.timers.event_seen();
        }
    }

    /// The next piece; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The announced size of the rest, if there is one.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.open.as_ref()?.body.size_hint().exact()
    }

    /// Reads to the end; `None` when that is more than `most`. An answer that
    /// came in one piece is not copied.
    pub(crate) async fn collect(mut self, most: usize) -> Result<Option<Bytes>> {
        let Some(first) = self.next().await.transpose()? else {
            return Ok(Some(Bytes::new()));
        };
        let mut held = None;
        let Some(mut piece) = self.next().await.transpose()? else {
            charge(&mut held, first.len())?;
            return Ok((first.len() <= most).then(|| hold(held, first)));
        };
        // What is announced may never come.
        let announced = self.announced().unwrap_or_default().min(AHEAD);
        let size = first.len() + piece.len() + (announced as usize).min(most);
        let mut all = BytesMut::with_capacity(size);
        all.extend_from_slice(&first);
        let mut yield_at = YIELD_EVERY;
        loop {
            let room = all.capacity() - all.len();
            if piece.len() > room && all.len() as u64 >= AHEAD {
                // To copy megabytes over and over would hold up the thread. Pages that
                // nothing was written to take no memory.
                let rest = self.announced().unwrap_or(most as u64) as usize;
                all.reserve(piece.len() + rest.min(most));
            }
            all.extend_from_slice(&piece);
            if all.len() > most {
                return Ok(None);
            }
            charge(&mut held, all.len())?;
            if all.len() >= yield_at {
                // Copying into fresh pages costs a page fault each: a fast upstream
                // must not turn one poll into milliseconds of them.
                yield_at = all.len() + YIELD_EVERY;
                tokio::task::yield_now().await;
            }
            match self.next().await.transpose()? {
                Some(next) => piece = next,
                None => return Ok(Some(hold(held, all.freeze()))),
            }
        }
    }

    /// What a refusing server says, within these bounds and whatever goes wrong.
    pub(crate) async fn explanation(mut self, most: usize, limit: Duration) -> Bytes {
        if let Some(open) = &mut self.open {
            open.timers.finish_within(limit);
        }
        let mut all = BytesMut::new();
        while let Some(Ok(piece)) = self.next().await {
            let room = most - all.len();
            all.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() >= room {
                break;
            }
        }
        all.freeze()
    }
}

/// Answers up to this size are covered by what a request costs anyway.
const SMALL: usize = 16 * 1024;
/// The charge of a larger one is made in such steps.
const STEP: u64 = 64 * 1024;
/// A task that collects a response yields after so many bytes.
const YIELD_EVERY: usize = 1024 * 1024;
/// The most that is allocated by a mere announcement.
const AHEAD: u64 = 1024 * 1024;

/// Charges what has come of an answer to the budget of the request that asked, if
/// there is one.
fn charge(held: &mut Option<Charge>, length: usize) -> Result<()> {
    if length <= SMALL {
        return Ok(());
    }
    let charge = held.get_or_insert_with(Charge::begin);
    let whole = (length as u64).next_multiple_of(STEP);
    charge.reach(whole).map_err(|exhausted| {
        Error::new(ErrorKind::Local, exhausted.to_string())
            .with_status(503)
            .with_retry_after(Some(Duration::from_secs(1)))
    })
}

fn hold(held: Option<Charge>, bytes: Bytes) -> Bytes {
    match held {
        Some(charge) => charge.hold(bytes),
        None => bytes,
    }
}

impl Open {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        // What is there already is given before the socket is asked for more.
        if let Poll::Ready(piece) = self.poll_body(cx) {
            return Poll::Ready(piece);
        }
        self.link.drive(cx);
        if let Poll::Ready(piece) = self.poll_body(cx) {
            return Poll::Ready(piece);
        }
        self.timers.poll_expired(cx).map(|timer| {
            let fault = fault::timeout(&self.place.name, timer, self.timers.limits());
            Some(Err(fault))
        })
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
            match frame {
                None => return Poll::Ready(None),
                Some(Err(error)) => {
                    let fault = fault::receiving(&self.place.name, &error);
                    return Poll::Ready(Some(Err(fault)));
                }
                // Trailers carry nothing that a provider says.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) if !piece.is_empty() => {
                        self.timers.received();
                        return Poll::Ready(Some(Ok(piece)));
                    }
                    _ => {}
                },
            }
        }
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(open) = &mut self.open else {
            return Poll::Ready(None);
        };
        let piece = ready!(open.poll_piece(cx));
        match &piece {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.open = None,
            None => {
                if let Some(Open {
                    link: Link::Http1(connection),
                    place,
                    ..
                }) = self.open.take()
                {
                    place.keep(connection);
                }
            }
        }
        Poll::Ready(piece)
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream")
            .field("host", &self.open.as_ref().map(|open| &open.place.name))
            .finish_non_exhaustive()
    }
}
