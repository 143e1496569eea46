//! A request that was let in: authenticated, bounded, not read yet.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use majordomo::{Error, ErrorKind, KeyOwner, Result};

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
            Some(key) if !key.may_use(model) => {
                let text = format!("the key `{}` may not use the model `{model}`", key.name());
                let error = Error::new(ErrorKind::Local, text).with_status(403);
                Err(error.with_key_owner(KeyOwner::Client))
            }
            _ => Ok(()),
        }
    }
}
