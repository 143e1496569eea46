//! Content blocks that the contract does not model.

use super::MESSAGES;
use crate::opaque_images::OpaqueBlocks;

pub(super) const OPAQUE: OpaqueBlocks = OpaqueBlocks {
    origin: MESSAGES,
    text_type: Some("text"),
};
