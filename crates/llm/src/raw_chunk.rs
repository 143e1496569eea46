//! Streamed responses in the provider's bytes, for clients that speak its dialect.
//!
//! Forwarding the bytes unchanged is both the cheapest and the most faithful
//! translation. They arrive in whole frames, with the events that intermediaries need.

use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;

use crate::{Event, OutputCount, Result};

/// One or more whole frames of a raw stream.
///
/// `events` holds every event up to the first semantic one, and afterwards only
/// [`Event::Usage`] and [`Event::Finish`]. As in any stream, `Finish` is the last event
/// and its absence means truncation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawChunk {
    /// The provider's bytes; may be empty.
    pub bytes: Bytes,
    /// The events decoded from the bytes.
    pub events: Vec<Event>,
    /// The approximate bytes of text, reasoning and arguments that the chunk carries.
    pub content_bytes: usize,
    /// The output that the last [`Event::Usage`] of the chunk does not cover.
    pub unreported: OutputCount,
}

/// A raw response stream. Dropping it cancels the request.
pub type RawChunkStream = Pin<Box<dyn Stream<Item = Result<RawChunk>> + Send>>;
