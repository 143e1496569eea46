//! A streamed answer in the provider's own bytes.
//!
//! For a client that speaks the provider's dialect nothing is better than what
//! the provider said. The bytes come in whole frames, each with the events that
//! somebody on the way must know of.

use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;

use crate::{Event, Result};

/// Some whole frames of a stream.
///
/// Up to the first semantic event every event is told; after it only usage and
/// the end, because the rest is in the bytes. As in any stream, a
/// [`Event::Finish`] is the last event, and the only sign of completeness.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawChunk {
    /// The provider's bytes; may be empty.
    pub bytes: Bytes,
    /// What they say.
    pub events: Vec<Event>,
}

/// The pieces of one answer. Dropping it cancels the request.
pub type RawChunkStream = Pin<Box<dyn Stream<Item = Result<RawChunk>> + Send>>;
