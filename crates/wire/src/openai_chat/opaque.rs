//! Content blocks that the contract does not model, and the images in them.

use super::CHAT;
use crate::opaque_images::{BlockObject, ImageForms, is_image_data_url, text_field};

pub(super) const OPAQUE: ImageForms = ImageForms {
    origin: CHAT,
    text_type: Some("text"),
    hints: &["image", "file_data"],
    is_image,
};

fn is_image(object: &BlockObject<'_>) -> bool {
    object.has_image_type() || is_image_file(object)
}

/// A file that does not decode, declared as an image or named as one. Some servers take a URL
/// as its id, and its type as `format`.
fn is_image_file(object: &BlockObject<'_>) -> bool {
    let file = object
        .raw("file")
        .filter(|_| object.text("type").as_deref() == Some("file"));
    let data = file.and_then(|file| text_field(file, &["file_data"]));
    data.is_some_and(|data| is_image_data_url(&data))
}
