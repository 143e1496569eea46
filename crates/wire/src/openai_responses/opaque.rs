//! Items and content blocks that the contract does not model, and the images in them.

use super::RESPONSES;
use crate::opaque_images::{BlockObject, ImageForms, is_image_data_url, media_type_of_extension};

pub(super) const OPAQUE: ImageForms = ImageForms {
    origin: RESPONSES,
    text_type: Some("input_text"),
    hints: &["image", "computer_", "file_data", "file_url"],
    is_image,
};

fn is_image(object: &BlockObject<'_>) -> bool {
    match object.text("type").as_deref() {
        // Items, which hold nothing but an image and have no place for a text.
        Some("computer_call_output" | "image_generation_call") => true,
        Some("computer_screenshot") => true,
        Some("input_file") => is_image_file(object),
        _ => object.has_image_type(),
    }
}

/// A file that does not decode, declared as an image or named as one.
fn is_image_file(object: &BlockObject<'_>) -> bool {
    let data = object.text("file_data");
    let url = object.text("file_url");
    data.is_some_and(|data| is_image_data_url(&data))
        || url.is_some_and(|url| media_type_of_extension(&url).is_some())
}
