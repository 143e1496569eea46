//! An admitted request: authenticated and bounded, not decoded yet.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use crate::exchange::Exchange;
use crate::heavy_lane::LaneHandle;
use crate::keys::ClientKey;
use crate::refusal::RequestRefusal;

/// The input of a handler.
pub(crate) struct AdmittedRequest {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) key: Option<Arc<ClientKey>>,
    pub(crate) exchange: Exchange,
    pub(crate) heavy: LaneHandle,
}

/// Longest model name.
const LONGEST_NAME: usize = 256;
/// Maximum number of targets in a requested chain.
const MOST_TARGETS: usize = 32;

impl AdmittedRequest {
    /// Checks that this client may use a model.
    pub(crate) fn allow(&self, model: &str) -> Result<(), RequestRefusal> {
        for (at, name) in model.split(',').enumerate() {
            let text = if at >= MOST_TARGETS {
                format!("the model is a chain of more than {MOST_TARGETS} targets")
            } else if name.len() > LONGEST_NAME {
                format!("the model's name is longer than {LONGEST_NAME} bytes")
            } else {
                continue;
            };
            return Err(RequestRefusal::new(400, text));
        }
        match &self.key {
            Some(key) => key.allow(model),
            None => Ok(()),
        }
    }
}
