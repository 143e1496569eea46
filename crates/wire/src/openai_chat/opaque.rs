//! Content blocks that the contract does not model, and the images in them.

use super::CHAT;
use crate::opaque_images::{
    BlockObject, ImageForms, is_image_file_data, is_image_type, is_named_as_image, text_field,
};

pub(super) const OPAQUE: ImageForms = ImageForms {
    origin: CHAT,
    text_type: Some("text"),
    hints: &["image", "file"],
    is_image,
};

fn is_image(object: &BlockObject<'_>) -> bool {
    object.has_image_type() || object.is_untyped_image() || is_image_file(object)
}

/// A file that does not decode, declared as an image or named as one. Some servers take a URL
/// as its id, and its type as `format`.
fn is_image_file(object: &BlockObject<'_>) -> bool {
    let is_file = object.text("type").as_deref() == Some("file");
    let Some(file) = object.raw("file").filter(|_| is_file) else {
        return false;
    };
    let has = |name, is: fn(&str) -> bool| text_field(file, &[name]).is_some_and(|it| is(&it));
    has("file_data", is_image_file_data)
        || has("filename", is_named_as_image)
        || has("file_id", is_named_as_image)
        || has("format", is_image_type)
}
