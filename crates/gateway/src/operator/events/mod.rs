//! `GET /api/events`: running and finished requests as server-sent events.
//!
//! One task renders each change once, for all readers, while there is a reader. Under load it
//! sends a sample and counts the events that it left out. A reader that falls behind loses
//! events and gets a notice; a reader that stops reading is disconnected. With `?rows=html` an
//! event also carries the row of the page.

mod event;
mod publisher;
mod stream;

pub(super) use publisher::Publisher;
pub(super) use stream::EventStream;

use http::{HeaderValue, Response, header};

use super::body::OperatorBody;
use super::lifetime::Lifetime;

/// Opens a stream of events.
pub(super) fn respond(
    publisher: &Publisher,
    query: &str,
    lifetime: Lifetime,
    is_valid: Box<dyn Fn() -> bool + Send + Sync>,
) -> Response<OperatorBody> {
    let with_rows = query.split('&').any(|pair| pair == "rows=html");
    let events = publisher.subscribe(with_rows, lifetime, is_valid);
    let mut response = Response::new(OperatorBody::events(events));
    let map = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream");
    map.insert(header::CONTENT_TYPE, kind);
    map.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let strict = HeaderValue::from_static("nosniff");
    map.insert(header::X_CONTENT_TYPE_OPTIONS, strict);
    // Reverse proxies must not buffer a stream.
    map.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
