//! The wire form of a request that a client sent.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Dialect, Prompt};

/// The dialect and bytes that a request was decoded from.
#[derive(Clone)]
pub struct WireSource {
    pub(crate) dialect: Dialect,
    pub(crate) bytes: Bytes,
    pub(crate) prompt: Arc<Prompt>,
    pub(crate) spans: Option<BodySpans>,
}

impl WireSource {
    /// Returns the client's dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Returns the client's bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the decoded prompt, before any edit.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Returns the positions of an attempt's fields in the bytes, if the reader recorded them.
    pub fn spans(&self) -> Option<&BodySpans> {
        self.spans.as_ref()
    }
}

/// The positions of the fields in a JSON body that belong to an attempt rather than to the
/// prompt.
///
/// Recorded while the body is read, so that no attempt has to read it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BodySpans {
    /// The value of `model`.
    pub model: Option<Range<usize>>,
    /// The value of `stream`.
    pub stream: Option<Range<usize>>,
    /// The end of the last field, where further fields may be added.
    pub end: usize,
    /// All fields in order, so that an edit does not read a large body again. Empty if they
    /// were not recorded.
    pub fields: Arc<[FieldSpan]>,
}

/// The position of a field in a JSON body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSpan {
    /// The key, without quotes. It has no escapes.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}
