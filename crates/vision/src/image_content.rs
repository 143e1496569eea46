//! One image, in any form a client may send it.

use bytes::Bytes;
use majordomo::llm::{File, RemoteImage};
use majordomo::media::sniff;
use majordomo::{Image, Part};

/// The content of an image.
#[derive(Clone, Debug)]
pub(super) enum ImageContent {
    /// Its bytes.
    Inline(Image),
    /// Its URL.
    Remote(String),
    /// Something that only the original provider can open: a file id, or invalid base64.
    Unreadable,
}

impl ImageContent {
    /// The image in a part, if it is one.
    pub(super) fn of(part: &Part) -> Option<Self> {
        match part {
            Part::Image(image) => Some(Self::attached(&image.media_type, image)),
            // Undecodable data is not a URL.
            Part::RemoteImage(remote) if remote.url.starts_with("data:") => Some(Self::Unreadable),
            Part::RemoteImage(remote) => Some(Self::Remote(remote.url.clone())),
            Part::File(file) if is_image(file) => {
                let image = Image::new(&file.media_type, file.data.clone());
                Some(Self::Inline(image))
            }
            _ => None,
        }
    }

    /// Drops the dialect-specific fields, which concern the client's own request.
    fn attached(media_type: &str, image: &Image) -> Self {
        Self::Inline(Image::new(media_type, image.data.clone()))
    }

    /// What identifies the image: its bytes or its URL.
    pub(super) fn content(&self) -> Bytes {
        match self {
            Self::Inline(image) => image.data.clone(),
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

/// Whether a file is an image by its media type or, if that is generic, its bytes.
fn is_image(file: &File) -> bool {
    let media_type = file.media_type.to_ascii_lowercase();
    match media_type.as_str() {
        "" | "application/octet-stream" => sniff(&file.data).is_some(),
        other => other.starts_with("image/"),
    }
}
