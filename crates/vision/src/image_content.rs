//! One image, in any form a client may send it.

use bytes::Bytes;
use majordomo::llm::{ImageRef, RemoteImage};
use majordomo::{Image, Part};
use majordomo_wire::read_opaque_image;

/// The content of an image.
#[derive(Clone, Debug)]
pub(super) enum ImageContent {
    /// Its bytes.
    Inline(Image),
    /// Its URL.
    Remote(String),
    /// Content that only the original provider can open: a file id, or invalid base64.
    Unreadable,
}

impl ImageContent {
    /// Reads an image.
    pub(super) fn of(image: ImageRef<'_>) -> Self {
        match image {
            ImageRef::Inline(image) => Self::attached(&image.media_type, &image.data),
            // Undecodable data is not a URL.
            ImageRef::Remote(remote) if remote.url.starts_with("data:") => Self::Unreadable,
            ImageRef::Remote(remote) => Self::Remote(remote.url.clone()),
            ImageRef::File(file) => Self::attached(&file.media_type, &file.data),
            ImageRef::Opaque { block, index } => {
                let part = read_opaque_image(block, index);
                // A block inside a block is not read any further.
                let image = part.as_ref().and_then(|part| part.images().next());
                image.map_or(Self::Unreadable, Self::of)
            }
        }
    }

    /// Drops the dialect-specific fields, which concern the client's own request.
    fn attached(media_type: &str, data: &Bytes) -> Self {
        Self::Inline(Image::new(media_type, data.clone()))
    }

    /// The image's identity: its bytes or its URL.
    pub(super) fn content(&self) -> Bytes {
        match self {
            Self::Inline(image) => Bytes::clone(&image.data),
            Self::Remote(url) => Bytes::copy_from_slice(url.as_bytes()),
            Self::Unreadable => Bytes::new(),
        }
    }

    /// The image as sent to the describer.
    pub(super) fn to_part(&self) -> Option<Part> {
        match self {
            Self::Inline(image) => Some(Part::Image(image.clone())),
            Self::Remote(url) => Some(Part::RemoteImage(RemoteImage {
                url: url.clone(),
                native: None,
            })),
            Self::Unreadable => None,
        }
    }
}
