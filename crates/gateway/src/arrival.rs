//! A request that was let in: authenticated, bounded, not read yet.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use majordomo::Result;

use crate::exchange::Exchange;
use crate::keys::Key;

/// What a front gets.
pub(crate) struct Arrival {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) key: Option<Arc<Key>>,
    pub(crate) exchange: Exchange,
}

impl Arrival {
    /// Whether this client may ask for a model.
    pub(crate) fn allow(&self, model: &str) -> Result<()> {
        match &self.key {
            Some(key) => key.allow(model),
            None => Ok(()),
        }
    }
}
