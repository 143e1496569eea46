//! Parts that the contract does not model.

use super::GEMINI;
use crate::opaque_images::OpaqueBlocks;

pub(super) const OPAQUE: OpaqueBlocks = OpaqueBlocks {
    origin: GEMINI,
    text_type: None,
};
