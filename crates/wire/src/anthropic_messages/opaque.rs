//! Content blocks that the contract does not model, and the images in them.

use super::MESSAGES;
use crate::opaque_images::{
    BlockObject, ImageForms, is_image_base64, is_named_as_image, text_field,
};

pub(super) const OPAQUE: ImageForms = ImageForms {
    origin: MESSAGES,
    text_type: Some("text"),
    hints: &["image", "document"],
    is_image,
};

fn is_image(object: &BlockObject<'_>) -> bool {
    object.has_image_type() || is_image_document(object)
}

/// A document whose data is declared as an image, or whose URL names one.
fn is_image_document(object: &BlockObject<'_>) -> bool {
    let is_document = object.text("type").as_deref() == Some("document");
    let source = object.raw("source").filter(|_| is_document);
    source.is_some_and(|source| {
        let field = |name| text_field(source, &[name]).unwrap_or_default();
        is_image_base64(&field("media_type"), &field("data")) || is_named_as_image(&field("url"))
    })
}
