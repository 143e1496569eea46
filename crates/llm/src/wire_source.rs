//! The wire form of a request that a client sent.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Dialect, Prompt};

/// The dialect and bytes that a request was decoded from.
#[derive(Clone)]
pub struct WireSource {
    pub(crate) dialect: Dialect,
    pub(crate) bytes: Bytes,
    pub(crate) prompt: Arc<Prompt>,
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
}
