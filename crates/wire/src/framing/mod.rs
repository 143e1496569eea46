//! Streams cut into frames: server-sent events and lines of JSON.
//!
//! Bytes come in any chunking; frames come out as soon as they are complete. A
//! frame that lies whole inside one chunk is handed out without a copy.

mod bound;
mod event_type;
mod frames;
mod lines;
mod objects;
mod sse;

#[cfg(test)]
mod tests;

pub(crate) use bound::Bound;
pub(crate) use event_type::event_type;
pub use frames::Frames;
pub(crate) use lines::Lines;
pub(crate) use objects::Objects;
pub(crate) use sse::{Frame, SseDecoder};

use majordomo_llm::{Error, ErrorKind};

/// What a frame handler may say.
pub(crate) type Handled = Result<(), Error>;

fn too_long(limit: usize) -> Error {
    Error::new(
        ErrorKind::BadResponse,
        format!("one event of the stream is longer than {limit} bytes"),
    )
}
