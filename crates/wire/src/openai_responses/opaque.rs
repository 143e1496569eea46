//! Items and content blocks that the contract does not model.

use super::RESPONSES;
use crate::opaque_images::OpaqueBlocks;

pub(super) const OPAQUE: OpaqueBlocks = OpaqueBlocks {
    origin: RESPONSES,
    text_type: Some("input_text"),
};
