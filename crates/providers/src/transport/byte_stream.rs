//! The body of a response, as a stream.

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

use super::errors;
use super::pool::{OriginPool, PooledConnection};
use super::timers::Timers;

/// The bytes of a streamed response body. The idle timeout is running.
///
/// The stream ends after its last byte or its first error. Dropping it earlier
/// closes the connection (HTTP/1.1) or resets the stream (HTTP/2).
///
/// The end of the bytes does not mean that the response is complete: only the
/// dialect's own terminator does.
pub struct ByteStream {
    open: Option<OpenBody>,
}

struct OpenBody {
    body: Incoming,
    connection: PooledConnection,
    origin: Arc<OriginPool>,
    timers: Timers,
}

impl ByteStream {
    pub(crate) fn new(
        body: Incoming,
        connection: PooledConnection,
        origin: Arc<OriginPool>,
        timers: Timers,
    ) -> Self {
        Self {
            open: Some(OpenBody {
                body,
                connection,
                origin,
                timers,
            }),
        }
    }

    /// Enables the event-idle timeout. The caller must then report every semantic
    /// event with [`event_received`](Self::event_received).
    pub fn track_events(&mut self) {
        if let Some(open) = &mut self.open {
            open.timers.track_events();
        }
    }

    /// Reports a semantic event, which stops the first-event timer. The transport
    /// sees only bytes and cannot detect events.
    pub fn event_received(&mut self) {
        if let Some(open) = &mut self.open {
            open.timers.event_received();
        }
    }

    /// The next chunk; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The exact number of bytes left, if the framing declares it.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.open.as_ref()?.body.size_hint().exact()
    }

    /// Reads to the end; `None` if the body exceeds `max` bytes. A body that
    /// arrives in one chunk is not copied.
    pub(crate) async fn collect(mut self, max: usize) -> Result<Option<Bytes>> {
        let Some(first) = self.next().await.transpose()? else {
            return Ok(Some(Bytes::new()));
        };
        let mut held = None;
        let Some(mut chunk) = self.next().await.transpose()? else {
            charge(&mut held, first.len())?;
            return Ok((first.len() <= max).then(|| hold(held, first)));
        };
        // The declared length is not trusted: the bytes may never arrive.
        let declared = self.remaining().unwrap_or_default().min(MAX_PREALLOCATION);
        let size = first.len() + chunk.len() + (declared as usize).min(max);
        let mut all = BytesMut::with_capacity(size);
        all.extend_from_slice(&first);
        let mut yield_at = YIELD_EVERY;
        loop {
            let room = all.capacity() - all.len();
            if chunk.len() > room && all.len() as u64 >= MAX_PREALLOCATION {
                // Growing by doubling would copy megabytes repeatedly. Untouched
                // pages of the reservation cost no memory.
                let rest = self.remaining().unwrap_or(max as u64) as usize;
                all.reserve(chunk.len() + rest.min(max));
            }
            all.extend_from_slice(&chunk);
            if all.len() > max {
                return Ok(None);
            }
            charge(&mut held, all.len())?;
            if all.len() >= yield_at {
                // Each fresh page costs a page fault: a fast upstream must not turn
                // one poll into milliseconds of them.
                yield_at = all.len() + YIELD_EVERY;
                tokio::task::yield_now().await;
            }
            match self.next().await.transpose()? {
                Some(next) => chunk = next,
                None => return Ok(Some(hold(held, all.freeze()))),
            }
        }
    }

    /// The start of an error response's body, bounded in size and time. Errors end
    /// it silently.
    pub(crate) async fn error_body(mut self, max: usize, limit: Duration) -> Bytes {
        if let Some(open) = &mut self.open {
            open.timers.finish_within(limit);
        }
        let mut all = BytesMut::new();
        while let Some(Ok(chunk)) = self.next().await {
            let room = max - all.len();
            all.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() >= room {
                break;
            }
        }
        all.freeze()
    }
}

/// Responses up to this size are covered by the base cost of a request.
const UNCHARGED: usize = 16 * 1024;
/// Granularity of the charge for larger responses.
const CHARGE_STEP: u64 = 64 * 1024;
/// A task that collects a response yields after this many bytes.
const YIELD_EVERY: usize = 1024 * 1024;
/// Largest allocation made on the strength of a declared length.
const MAX_PREALLOCATION: u64 = 1024 * 1024;

/// Charges the bytes received so far to the memory budget of the current request,
/// if it has one.
fn charge(held: &mut Option<Charge>, length: usize) -> Result<()> {
    if length <= UNCHARGED {
        return Ok(());
    }
    let charge = held.get_or_insert_with(Charge::begin);
    let whole = (length as u64).next_multiple_of(CHARGE_STEP);
    charge.reach(whole).map_err(|exhausted| {
        Error::new(ErrorKind::Overloaded, exhausted.to_string())
            .with_retry_after(Some(Duration::from_secs(1)))
    })
}

fn hold(held: Option<Charge>, bytes: Bytes) -> Bytes {
    match held {
        Some(charge) => charge.hold(bytes),
        None => bytes,
    }
}

impl OpenBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        // Drain what hyper has buffered before reading from the socket.
        if let Poll::Ready(chunk) = self.poll_body(cx) {
            return Poll::Ready(chunk);
        }
        self.connection.drive(cx);
        if let Poll::Ready(chunk) = self.poll_body(cx) {
            return Poll::Ready(chunk);
        }
        self.timers.poll_expired(cx).map(|timer| {
            let error = errors::timeout(&self.origin.name, timer, self.timers.limits());
            Some(Err(error))
        })
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
            match frame {
                None => return Poll::Ready(None),
                Some(Err(error)) => {
                    let error = errors::receiving(&self.origin.name, &error);
                    return Poll::Ready(Some(Err(error)));
                }
                // Providers send nothing of interest in trailers.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(chunk) if !chunk.is_empty() => {
                        self.timers.received();
                        return Poll::Ready(Some(Ok(chunk)));
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
        let chunk = ready!(open.poll_chunk(cx));
        match &chunk {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.open = None,
            None => {
                if let Some(OpenBody {
                    connection: PooledConnection::Http1(http1),
                    origin,
                    ..
                }) = self.open.take()
                {
                    origin.check_in(http1);
                }
            }
        }
        Poll::Ready(chunk)
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteStream")
            .field("host", &self.open.as_ref().map(|open| &open.origin.name))
            .finish_non_exhaustive()
    }
}
