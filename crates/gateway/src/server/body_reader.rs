//! Reads a request's body within its size and rate limits.
//!
//! The whole body is read before any target is called: only then does hyper detect a
//! disconnecting client, and every target can get the same bytes.

use std::convert::Infallible;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use tokio::time::{Instant, timeout_at};

use super::admission::RequestPermit;
use super::limits::Limits;
use crate::refusal::RequestRefusal;

/// Bytes of a body that are read before its reservation.
const PREFETCH: u64 = 64 * 1024;
/// The status of a body that arrives too slowly.
const TOO_SLOW: u16 = 408;
/// First buffer of a body that arrives in several chunks.
const FIRST: u64 = 256 * 1024;
/// A buffer's capacity is at most this multiple of the received bytes.
const GROWTH: u64 = 4;
/// Effectively never, and small enough to add to an `Instant`.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3600);
/// Buffers beyond this size are not copied into larger ones.
const LAST_COPY: u64 = 1024 * 1024;

/// Minimum rate of a body.
#[derive(Clone, Copy)]
pub(super) struct Pace<'a> {
    pub(super) limits: &'a Limits,
    /// How far a body may lag behind [`Limits::body_rate`].
    pub(super) timeout: Duration,
}

impl Pace<'_> {
    /// The deadline after `bytes` more have arrived: a token bucket that holds at most
    /// `timeout`. Bytes earn back spent time, but a burst saves none up, so a client
    /// cannot send most of a body at once and then hold it for minutes.
    fn extended(&self, deadline: Instant, bytes: u64, now: Instant) -> Instant {
        let rate = self.limits.body_rate.max(1) as f64;
        let earned = Duration::from_secs_f64((bytes as f64 / rate).min(FOREVER.as_secs_f64()));
        (deadline + earned).min(now + self.timeout.min(FOREVER))
    }
}

/// Checks encoding and announced length before a body is read.
pub(super) fn check_body_headers(
    headers: &HeaderMap,
    announced: u64,
    max_body: u64,
) -> Result<(), RequestRefusal> {
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(rejected(415, "the body must not have a content encoding"));
    }
    if announced > max_body {
        return Err(too_large(max_body));
    }
    Ok(())
}

/// A body being read.
pub(super) struct BodyReader {
    body: Incoming,
    announced: u64,
    max_body: u64,
    /// Most bodies arrive in one chunk, which is not copied.
    first: Bytes,
    whole: BytesMut,
    truncated: bool,
}

impl BodyReader {
    /// A body of at most `max_body` bytes.
    pub(super) fn new(body: Incoming, max_body: u64) -> Self {
        Self {
            announced: body.size_hint().lower(),
            body,
            max_body,
            first: Bytes::new(),
            whole: BytesMut::new(),
            truncated: false,
        }
    }

    /// Prefetches a little while the request waits for its reservation, then stops:
    /// once a short body is read, hyper detects a disconnecting client. Never
    /// completes.
    pub(super) async fn prefetch(&mut self) -> Infallible {
        while self.length() < PREFETCH {
            match self.body.frame().await {
                Some(Ok(frame)) => self.take(frame),
                Some(Err(_)) => {
                    self.truncated = true;
                    break;
                }
                None => break,
            }
        }
        std::future::pending().await
    }

    /// The rest of the body of a refused request; none if it arrived too slowly or broke off.
    pub(super) fn into_unread(self, refusal: &RequestRefusal) -> Option<Incoming> {
        let sent = !self.truncated && refusal.status() != TOO_SLOW;
        sent.then_some(self.body)
    }

    /// Reads the whole body, at the minimum rate or faster.
    pub(super) async fn read_to_end(
        &mut self,
        permit: &mut RequestPermit,
        pace: Pace<'_>,
    ) -> Result<Bytes, RequestRefusal> {
        let limits = pace.limits;
        let floor = limits.slowest_body as f64 * limits.body_window.as_secs_f64();
        let began = Instant::now();
        let mut window = began + limits.body_window;
        let mut deadline = began + pace.timeout.min(FOREVER);
        let mut before = self.length();
        loop {
            if self.length() > self.max_body {
                return Err(too_large(self.max_body));
            }
            if self.truncated {
                return Err(rejected(400, "the body is incomplete"));
            }
            permit.grow_to(self.length(), self.expected())?;
            match timeout_at(window.min(deadline), self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    let arrived = frame.data_ref().map_or(0, |data| data.len() as u64);
                    deadline = pace.extended(deadline, arrived, Instant::now());
                    self.take(frame);
                }
                Ok(Some(Err(_))) => self.truncated = true,
                Ok(None) => break,
                Err(_) if Instant::now() >= deadline => {
                    let text =
                        "reading the body timed out; `body_timeout` under [server] sets the limit";
                    return Err(rejected(TOO_SLOW, text));
                }
                Err(_) if (self.length() - before) as f64 >= floor => {
                    before = self.length();
                    window = Instant::now() + limits.body_window;
                }
                Err(_) => return Err(rejected(TOO_SLOW, "the body arrived too slowly")),
            }
        }
        permit.settle(self.length());
        let first = std::mem::take(&mut self.first);
        let whole = std::mem::take(&mut self.whole);
        Ok(if whole.is_empty() {
            first
        } else {
            whole.freeze()
        })
    }

    /// The known upper bound of the body's length.
    fn expected(&self) -> u64 {
        if self.announced > 0 {
            self.announced.min(self.max_body)
        } else {
            self.max_body
        }
    }

    /// Capacity for a body of which `length` bytes have arrived. An announced length
    /// may be false, so a large body must have begun before it is trusted. Then the
    /// whole capacity is allocated at once: repeated copying would hold the body twice,
    /// and untouched pages take no memory.
    fn capacity_for(&self, length: u64) -> u64 {
        let begun = length > FIRST || self.announced <= LAST_COPY;
        if length > LAST_COPY || (self.announced > 0 && begun) {
            self.expected()
        } else {
            (length * GROWTH).max(FIRST)
        }
    }

    fn length(&self) -> u64 {
        (self.first.len() + self.whole.len()) as u64
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        let Ok(data) = frame.into_data() else {
            return;
        };
        if self.length() == 0 {
            self.first = data;
            return;
        }
        let length = self.length() + data.len() as u64;
        if length > self.whole.capacity() as u64 {
            let ahead = self.capacity_for(length).min(self.expected());
            let mut larger = BytesMut::with_capacity(ahead.max(length) as usize);
            larger.extend_from_slice(&std::mem::take(&mut self.first));
            larger.extend_from_slice(&self.whole);
            self.whole = larger;
        }
        self.whole.extend_from_slice(&data);
    }
}

fn too_large(max_body: u64) -> RequestRefusal {
    let text = format!("the body is larger than {max_body} bytes; `max_body` sets the limit");
    rejected(413, &text)
}

fn rejected(status: u16, text: &str) -> RequestRefusal {
    RequestRefusal::new(status, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_does_not_extend_the_deadline() {
        let limits = Limits::default();
        let timeout = Duration::from_secs(60);
        let pace = Pace {
            limits: &limits,
            timeout,
        };
        let now = Instant::now();
        let deadline = pace.extended(now + timeout, 31 << 20, now);
        assert_eq!(deadline, now + timeout);
    }

    #[test]
    fn a_body_at_the_required_rate_never_runs_out_of_time() {
        let limits = Limits::default();
        let pace = Pace {
            limits: &limits,
            timeout: Duration::from_secs(10),
        };
        let mut now = Instant::now();
        let mut deadline = now + pace.timeout;
        for _ in 0..1_000 {
            now += Duration::from_secs(1);
            assert!(now < deadline);
            deadline = pace.extended(deadline, limits.body_rate, now);
        }
        // At half the rate, twice the timeout is spent.
        let mut spent = Duration::ZERO;
        while now < deadline {
            now += Duration::from_secs(1);
            spent += Duration::from_secs(1);
            deadline = pace.extended(deadline, limits.body_rate / 2, now);
        }
        assert_eq!(spent, 2 * pace.timeout);
    }
}
