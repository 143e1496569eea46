//! One image, in whatever form the client sent it.

use bytes::Bytes;
use majordomo::media::sniff;
use majordomo::{File, Image, Part, RemoteImage};

/// What is known of an image.
#[derive(Clone, Debug)]
pub(super) enum Picture {
    /// Its bytes.
    Attached(Image),
    /// Where it is.
    Elsewhere(String),
    /// Something that only its own provider can open: a file's id, bytes that
    /// are no base64.
    Unreadable,
}

impl Picture {
    /// The image that a part is, if it is one.
    pub(super) fn of(part: &Part) -> Option<Self> {
        match part {
            Part::Image(image) => Some(Self::attached(&image.media_type, image)),
            // Bytes that were not understood are no address.
            Part::RemoteImage(remote) if remote.url.starts_with("data:") => Some(Self::Unreadable),
            Part::RemoteImage(remote) => Some(Self::Elsewhere(remote.url.clone())),
            Part::File(file) if is_picture(file) => {
                let image = Image::new(&file.media_type, file.data.clone());
                Some(Self::Attached(image))
            }
            _ => None,
        }
    }

    /// Without the fields of the client's dialect: they are about its own request.
    fn attached(media_type: &str, image: &Image) -> Self {
        Self::Attached(Image::new(media_type, image.data.clone()))
    }

    /// What tells it from other images: its bytes, or where it is.
    pub(super) fn content(&self) -> Bytes {
        match self {
            Self::Attached(image) => image.data.clone(),
            Self::Elsewhere(url) => Bytes::copy_from_slice(url.as_bytes()),
            Self::Unreadable => Bytes::new(),
        }
    }

    /// The image as the describer gets it.
    pub(super) fn to_part(&self) -> Option<Part> {
        match self {
            Self::Attached(image) => Some(Part::Image(image.clone())),
            Self::Elsewhere(url) => Some(Part::RemoteImage(RemoteImage {
                url: url.clone(),
                native: None,
            })),
            Self::Unreadable => None,
        }
    }
}

/// Whether a file is a picture by its type or, where that says nothing, its bytes.
fn is_picture(file: &File) -> bool {
    let media_type = file.media_type.to_ascii_lowercase();
    match media_type.as_str() {
        "" | "application/octet-stream" => sniff(&file.data).is_some(),
        other => other.starts_with("image/"),
    }
}
