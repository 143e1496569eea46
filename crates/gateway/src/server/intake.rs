//! Reads a request's body, within its bounds.
//!
//! It is read to its end before anybody is asked: only then does hyper notice
//! that a client leaves, and only then can every target get the same bytes.

use std::convert::Infallible;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use majordomo::{Error, ErrorKind, Result};
use tokio::time::{Instant, timeout_at};

use super::admission::Permit;
use super::limits::Limits;

/// So much of a body is read before there is room for it.
const AHEAD: u64 = 64 * 1024;
/// The first buffer for a body in several pieces.
const FIRST: u64 = 256 * 1024;
/// A buffer is no larger than so many times what has come.
const GROWTH: u64 = 4;
/// Too far away to matter, and within what an `Instant` holds.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3600);
/// No buffer beyond this is copied into a larger one.
const LAST_COPY: u64 = 1024 * 1024;

/// How fast a body must arrive.
#[derive(Clone, Copy)]
pub(super) struct Pace<'a> {
    pub(super) limits: &'a Limits,
    /// How long a body may lag behind [`Limits::body_rate`].
    pub(super) timeout: Duration,
}

impl Pace<'_> {
    /// The deadline after `bytes` more have arrived: a token bucket that holds at most
    /// `timeout`. Bytes earn back time that was spent; a burst saves none up, so nobody
    /// can send most of a body at once and then hold it for minutes.
    fn extended(&self, deadline: Instant, bytes: u64, now: Instant) -> Instant {
        let rate = self.limits.body_rate.max(1) as f64;
        let earned = Duration::from_secs_f64((bytes as f64 / rate).min(FOREVER.as_secs_f64()));
        (deadline + earned).min(now + self.timeout.min(FOREVER))
    }
}

/// Whether a body may be read at all, by what its head says.
pub(super) fn acceptable(headers: &HeaderMap, announced: u64, most: u64) -> Result<()> {
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(refused(415, "send the body without a content encoding"));
    }
    if announced > most {
        return Err(too_large(most));
    }
    Ok(())
}

/// A body on its way in.
pub(super) struct Intake {
    body: Incoming,
    announced: u64,
    most: u64,
    /// Most bodies come in one piece, which is not copied.
    first: Bytes,
    whole: BytesMut,
    broke_off: bool,
}

impl Intake {
    /// A body that may hold so many bytes.
    pub(super) fn new(body: Incoming, most: u64) -> Self {
        Self {
            announced: body.size_hint().lower(),
            body,
            most,
            first: Bytes::new(),
            whole: BytesMut::new(),
            broke_off: false,
        }
    }

    /// Reads a little while room is waited for, and then nothing more: behind a
    /// short body its client is seen to leave. It never ends.
    pub(super) async fn ahead(&mut self) -> Infallible {
        while self.length() < AHEAD {
            match self.body.frame().await {
                Some(Ok(frame)) => self.take(frame),
                Some(Err(_)) => {
                    self.broke_off = true;
                    break;
                }
                None => break,
            }
        }
        std::future::pending().await
    }

    /// The whole body. It may come slowly, but not slower than the limits say.
    pub(super) async fn read(&mut self, permit: &mut Permit, pace: Pace<'_>) -> Result<Bytes> {
        let limits = pace.limits;
        let floor = limits.slowest_body as f64 * limits.body_window.as_secs_f64();
        let began = Instant::now();
        let mut window = began + limits.body_window;
        let mut deadline = began + pace.timeout.min(FOREVER);
        let mut before = self.length();
        loop {
            if self.length() > self.most {
                return Err(too_large(self.most));
            }
            if self.broke_off {
                return Err(refused(400, "the body broke off"));
            }
            permit.reach(self.length(), self.expected())?;
            match timeout_at(window.min(deadline), self.body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    let arrived = frame.data_ref().map_or(0, |data| data.len() as u64);
                    deadline = pace.extended(deadline, arrived, Instant::now());
                    self.take(frame);
                }
                Ok(Some(Err(_))) => self.broke_off = true,
                Ok(None) => break,
                Err(_) if Instant::now() >= deadline => {
                    let text =
                        "the body took too long; `body_timeout` under [server] sets the time";
                    return Err(refused(408, text));
                }
                Err(_) if (self.length() - before) as f64 >= floor => {
                    before = self.length();
                    window = Instant::now() + limits.body_window;
                }
                Err(_) => return Err(refused(408, "the body came too slowly")),
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

    /// The most that will come, as far as it is known.
    fn expected(&self) -> u64 {
        if self.announced > 0 {
            self.announced.min(self.most)
        } else {
            self.most
        }
    }

    /// How much to allocate for a body of which so much has come. What is announced
    /// may never come, so of a large one a beginning must be there first. Then the whole is
    /// allocated at once: to copy it over and over would hold it twice, and pages
    /// that nothing was written to take no memory.
    fn ahead_of(&self, length: u64) -> u64 {
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
            let ahead = self.ahead_of(length).min(self.expected());
            let mut larger = BytesMut::with_capacity(ahead.max(length) as usize);
            larger.extend_from_slice(&std::mem::take(&mut self.first));
            larger.extend_from_slice(&self.whole);
            self.whole = larger;
        }
        self.whole.extend_from_slice(&data);
    }
}

fn too_large(most: u64) -> Error {
    let text = format!("the body is larger than {most} bytes; `max_body` sets the limit");
    refused(413, &text)
}

fn refused(status: u16, text: &str) -> Error {
    Error::new(ErrorKind::Local, text).with_status(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_earns_no_time_to_hold_it() {
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
