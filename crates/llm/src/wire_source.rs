//! Where a request came from, when a client sent it.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Dialect, Prompt};

/// The bytes that a request was read from.
#[derive(Clone)]
pub struct WireSource {
    pub(crate) dialect: Dialect,
    pub(crate) bytes: Bytes,
    pub(crate) read: Arc<Prompt>,
}

impl WireSource {
    /// The client's dialect.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The client's bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// What was read from them, before any edit.
    pub fn read(&self) -> &Prompt {
        &self.read
    }
}
