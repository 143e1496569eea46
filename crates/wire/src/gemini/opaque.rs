//! Parts that the contract does not model, and the images in them.

use super::GEMINI;
use crate::opaque_images::{
    BlockObject, ImageForms, is_generic_type, is_image_base64, is_named_as_image, text_field,
};

pub(super) const OPAQUE: ImageForms = ImageForms {
    origin: GEMINI,
    text_type: None,
    hints: &["fileData", "file_data", "inlineData", "inline_data"],
    is_image,
};

fn is_image(object: &BlockObject<'_>) -> bool {
    let names = ["fileData", "file_data", "inlineData", "inline_data"];
    names
        .iter()
        .filter_map(|name| object.raw(name))
        .any(is_image_data)
}

/// Whether the data is an image, by its media type or, if that is generic, its first bytes or
/// the extension of its URI.
fn is_image_data(data: &str) -> bool {
    let media_type = text_field(data, &["mimeType", "mime_type"]).unwrap_or_default();
    let bytes = text_field(data, &["data"]).unwrap_or_default();
    let uri = text_field(data, &["fileUri", "file_uri"]).unwrap_or_default();
    is_image_base64(&media_type, &bytes)
        || (is_generic_type(&media_type) && is_named_as_image(&uri))
}
