//! Reads a request's body, within its bounds.
//!
//! It is read to its end before anybody is asked: only then does hyper notice
//! that a client leaves, and only then can every target get the same bytes.

use std::convert::Infallible;

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
    pub(super) async fn read(&mut self, permit: &mut Permit, limits: &Limits) -> Result<Bytes> {
        let floor = limits.slowest_body as f64 * limits.body_window.as_secs_f64();
        let mut window = Instant::now() + limits.body_window;
        let mut before = self.length();
        loop {
            if self.length() > self.most {
                return Err(too_large(self.most));
            }
            if self.broke_off {
                return Err(refused(400, "the body broke off"));
            }
            permit.reach(self.length())?;
            match timeout_at(window, self.body.frame()).await {
                Ok(Some(Ok(frame))) => self.take(frame),
                Ok(Some(Err(_))) => self.broke_off = true,
                Ok(None) => break,
                Err(_) if (self.length() - before) as f64 >= floor => {
                    before = self.length();
                    window = Instant::now() + limits.body_window;
                }
                Err(_) => return Err(refused(408, "the body came too slowly")),
            }
        }
        let first = std::mem::take(&mut self.first);
        let whole = std::mem::take(&mut self.whole);
        Ok(if whole.is_empty() {
            first
        } else {
            whole.freeze()
        })
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
        if self.whole.is_empty() {
            let so_far = self.length() + data.len() as u64;
            let expected = self.announced.clamp(so_far, self.most.max(so_far));
            self.whole.reserve(expected as usize);
            self.whole
                .extend_from_slice(&std::mem::take(&mut self.first));
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
