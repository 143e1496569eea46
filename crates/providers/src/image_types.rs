//! Image limits and media types shared by several recipes.

use majordomo_llm::ImageLimits;

/// The formats that every local server decodes.
pub(crate) fn local_images() -> Option<ImageLimits> {
    Some(ImageLimits::default().with_types(media_types(&["image/png", "image/jpeg"])))
}

pub(crate) fn media_types(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
