//! Reads a request's body, within its bounds.
//!
//! It is read to its end before anybody is asked: only then does hyper notice
//! that a client leaves, and only then can every target get the same bytes.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use majordomo::{Error, ErrorKind, Result};
use tokio::time::{Instant, timeout_at};

use super::admission::Permit;
use super::limits::Limits;

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

/// The whole body. It may come slowly, but not slower than the limits say.
pub(super) async fn read(
    mut body: Incoming,
    permit: &mut Permit,
    most: u64,
    limits: &Limits,
) -> Result<Bytes> {
    let announced = body.size_hint().lower();
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    let floor = limits.slowest_body as f64 * limits.body_window.as_secs_f64();
    let mut window = Instant::now() + limits.body_window;
    let mut in_window = 0;
    loop {
        let frame = match timeout_at(window, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(refused(400, "the body broke off")),
            Ok(None) => break,
            Err(_) if in_window as f64 >= floor => {
                in_window = 0;
                window = Instant::now() + limits.body_window;
                continue;
            }
            Err(_) => return Err(refused(408, "the body came too slowly")),
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        in_window += data.len();
        let so_far = (first.len() + whole.len() + data.len()) as u64;
        if so_far > most {
            return Err(too_large(most));
        }
        permit.reach(so_far)?;
        if first.is_empty() && whole.is_empty() {
            // Most requests come in one piece, which is not copied.
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.reserve(announced.clamp(so_far, most) as usize);
            whole.extend_from_slice(&std::mem::take(&mut first));
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() {
        first
    } else {
        whole.freeze()
    })
}

fn too_large(most: u64) -> Error {
    let text = format!("the body is larger than {most} bytes; `max_body` sets the limit");
    refused(413, &text)
}

fn refused(status: u16, text: &str) -> Error {
    Error::new(ErrorKind::Local, text).with_status(status)
}
