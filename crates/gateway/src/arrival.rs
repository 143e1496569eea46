//! A request that was let in: authenticated, bounded, not read yet.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use majordomo::{Error, ErrorKind, Result};

use crate::exchange::Exchange;
use crate::keys::Key;

/// What a front gets.
pub(crate) struct Arrival {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) key: Option<Arc<Key>>,
    pub(crate) exchange: Exchange,
}

/// No model has a longer name, nor has a chain that somebody wrote.
const LONGEST_NAME: usize = 4 * 1024;

impl Arrival {
    /// Whether this client may ask for a model.
    pub(crate) fn allow(&self, model: &str) -> Result<()> {
        if model.len() > LONGEST_NAME {
            let text = format!("the model's name is longer than {LONGEST_NAME} bytes");
            return Err(Error::new(ErrorKind::Local, text).with_status(400));
        }
        match &self.key {
            Some(key) => key.allow(model),
            None => Ok(()),
        }
    }
}
