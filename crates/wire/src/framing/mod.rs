//! Splits streams into frames: server-sent events (WHATWG HTML §9.2) and NDJSON.
//!
//! Bytes arrive in any chunking, and frames are emitted as soon as they are
//! complete. A frame within one chunk is emitted without a copy. Uses no sibling
//! module.

mod event_type;
mod frames;
mod limit;
mod lines;
mod objects;
mod sse;

#[cfg(test)]
mod tests;

pub(crate) use event_type::event_type;
pub use frames::Frames;
pub(crate) use limit::EventLimit;
pub(crate) use lines::LineSplitter;
pub(crate) use objects::ObjectSplitter;
pub(crate) use sse::{SseDecoder, SseFrame};

use majordomo_llm::{Error, ErrorKind};

/// The result of a frame handler.
pub(crate) type FrameResult = Result<(), Error>;

fn too_long(limit: usize) -> Error {
    Error::new(
        ErrorKind::BadResponse,
        format!("a stream event is longer than {limit} bytes"),
    )
}
