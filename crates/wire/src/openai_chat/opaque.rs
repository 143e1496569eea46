//! Content blocks that the contract does not model.

use super::CHAT;
use crate::opaque_images::OpaqueBlocks;

pub(super) const OPAQUE: OpaqueBlocks = OpaqueBlocks {
    origin: CHAT,
    text_type: Some("text"),
};
