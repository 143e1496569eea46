//! Reads a request's body, within its bounds.
//!
//! It is read to its end before anybody is asked: only then does hyper notice
//! that a client leaves, and only then can every target get the same bytes.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use majordomo::{Error, ErrorKind, Result};
use tokio::time::timeout;

/// A body that stands still for so long is given up.
const STALL: Duration = Duration::from_secs(15);

/// The whole body.
pub(super) async fn read(headers: &HeaderMap, mut body: Incoming, most: u64) -> Result<Bytes> {
    if let Some(encoding) = headers.get(CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(refused(415, "send the body without a content encoding"));
    }
    let announced = body.size_hint().lower();
    if announced > most {
        return Err(too_large(most));
    }
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    loop {
        let frame = match timeout(STALL, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(refused(400, "the body broke off")),
            Ok(None) => break,
            Err(_) => return Err(refused(408, "the body stopped coming")),
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let so_far = (first.len() + whole.len() + data.len()) as u64;
        if so_far > most {
            return Err(too_large(most));
        }
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
