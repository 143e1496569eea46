//! Items and content blocks that the contract does not model, and the images in them.

use super::RESPONSES;
use crate::opaque_images::{BlockObject, ImageForms, is_image_file_data, is_named_as_image};

pub(super) const OPAQUE: ImageForms = ImageForms {
    origin: RESPONSES,
    text_type: Some("input_text"),
    hints: &["image", "computer_", "input_file"],
    is_image,
};

fn is_image(object: &BlockObject<'_>) -> bool {
    match object.text("type").as_deref() {
        // Items, which hold nothing but an image and have no place for a text.
        Some("computer_call_output" | "image_generation_call") => true,
        Some("computer_screenshot") => true,
        Some("input_file") => is_image_file(object),
        _ => object.has_image_type() || object.is_untyped_image(),
    }
}

/// A file that does not decode, declared as an image or named as one.
fn is_image_file(object: &BlockObject<'_>) -> bool {
    let has = |name, is: fn(&str) -> bool| object.text(name).is_some_and(|it| is(&it));
    has("file_data", is_image_file_data)
        || has("file_url", is_named_as_image)
        || has("filename", is_named_as_image)
}
