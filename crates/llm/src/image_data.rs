//! The bytes of an image, and their parsed header.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use majordomo_image_header::{Header, HeaderError, measure};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The encoded bytes of an image. Immutable, so that the header is parsed at most once.
///
/// Estimates, limits and fitting all need the header, for every attempt. Attempts share the
/// request's images, so they share the header too.
#[derive(Clone)]
pub struct ImageData {
    bytes: Bytes,
    /// Boxed, to keep parts small: few of them need it.
    header: OnceLock<Box<Result<Header, HeaderError>>>,
}

impl ImageData {
    /// Returns the header of a JPEG, PNG, GIF or WebP, which the first call parses.
    ///
    /// ```
    /// use majordomo_llm::Image;
    ///
    /// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
    /// let image = Image::new("image/gif", gif.to_vec());
    /// let header = image.data.header().unwrap();
    /// assert_eq!((header.width, header.height), (32, 16));
    /// ```
    pub fn header(&self) -> Result<Header, HeaderError> {
        **self.header.get_or_init(|| Box::new(measure(&self.bytes)))
    }
}

impl Deref for ImageData {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl From<Bytes> for ImageData {
    fn from(bytes: Bytes) -> Self {
        Self {
            bytes,
            header: OnceLock::new(),
        }
    }
}

impl From<Vec<u8>> for ImageData {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<ImageData> for Bytes {
    fn from(data: ImageData) -> Self {
        data.bytes
    }
}

impl AsRef<[u8]> for ImageData {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for ImageData {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for ImageData {}

impl PartialEq<[u8]> for ImageData {
    fn eq(&self, other: &[u8]) -> bool {
        self.bytes == other
    }
}

impl PartialEq<Bytes> for ImageData {
    fn eq(&self, other: &Bytes) -> bool {
        self.bytes == *other
    }
}

impl Hash for ImageData {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}

/// Prints the size instead of the pixels.
impl fmt::Debug for ImageData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

/// As base64.
impl Serialize for ImageData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.bytes))
    }
}

impl<'de> Deserialize<'de> for ImageData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, Request};

    const GIF: &[u8] = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";

    fn image(request: &Request) -> &ImageData {
        let Part::Image(image) = &request.prompt().messages[0].parts[1] else {
            panic!("the second part is the image");
        };
        &image.data
    }

    #[test]
    fn attempts_share_the_header_that_the_first_one_parsed() {
        let request = Request::user("look").part(Part::image("image/gif", GIF));
        let first = request.clone();
        let mut edited = request.clone();
        assert!(image(&request).header.get().is_none());
        image(&first).header().unwrap();
        assert!(image(&request).header.get().is_some());
        edited.edit().max_tokens = Some(1);
        assert!(image(&edited).header.get().is_some());
    }

    #[test]
    fn what_is_no_image_has_no_header() {
        for (bytes, error) in [
            (&b""[..], HeaderError::Empty),
            (b"hello", HeaderError::Unrecognised),
        ] {
            let data = ImageData::from(bytes.to_vec());
            assert_eq!(data.header(), Err(error));
            assert_eq!(data.header(), Err(error));
        }
    }

    #[test]
    fn data_survives_json() {
        let data = ImageData::from(GIF.to_vec());
        let json = serde_json::to_string(&data).unwrap();
        let read: ImageData = serde_json::from_str(&json).unwrap();
        assert_eq!(read, data);
    }
}
