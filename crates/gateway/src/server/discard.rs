//! Reads and drops the rest of a body whose request was refused, as nginx lingers.
//!
//! A client that is still sending when its connection is closed or its stream reset reports
//! that, and not the refusal: curl 7.88 (Debian 12) over HTTP/2, `fetch` of Node.js, and
//! Python's `http.client` do. The response does not wait for the body.

use std::time::Duration;

use http::header::EXPECT;
use http::request::Parts;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use super::shutdown::ShutdownSignal;

/// A longer body is cut off. Images in base64 are rarely larger.
const MOST: u64 = 64 << 20;
/// A client that pauses for longer is cut off.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A client that sends for longer is cut off.
const LONGEST: Duration = Duration::from_secs(30);

/// Whether the client sends the body even if the response comes first.
pub(super) fn sends_anyway(head: &Parts) -> bool {
    !head.headers.contains_key(EXPECT)
}

/// Discards a body beside the response, until it ends, exceeds a bound or the server stops.
pub(super) fn discard(body: Incoming, stopping: &ShutdownSignal) {
    if body.is_end_stream() || body.size_hint().lower() > MOST {
        return;
    }
    let stopping = stopping.triggered();
    tokio::spawn(async move {
        tokio::select! {
            _ = timeout(LONGEST, read(body)) => {}
            () = stopping => {}
        }
    });
}

async fn read(mut body: Incoming) {
    let mut read = 0;
    while let Ok(Some(Ok(frame))) = timeout(LONGEST_PAUSE, body.frame()).await {
        read += frame.data_ref().map_or(0, |data| data.len() as u64);
        if read > MOST {
            return;
        }
    }
}
