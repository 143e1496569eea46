//! Why an image cannot be sent, as messages for users.
//!
//! Messages name only limits and formats, never a file, an address or a library.

use std::time::Duration;

use majordomo_codecs::CodecError;
use majordomo_image_header::{Format, Header, HeaderError};
use majordomo_llm::{Error, ErrorKind};

use crate::human::human_bytes;

/// Suggested delay when all decoder threads are busy.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why an image cannot be sent to a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// The bytes belong to no known image format.
    #[error("it is not a supported image; attach a JPEG, PNG, GIF or WebP")]
    Unrecognised,
    /// A side has zero pixels.
    #[error("it has no pixels")]
    NoPixels,
    /// The data is truncated or violates its format.
    #[error("its {0} data is damaged or incomplete")]
    Damaged(Format),
    /// The format is recognised, but not decoded.
    #[error("it is {0}, which is not decoded here; convert it to JPEG or PNG first")]
    NotOpened(Format),
    /// A rare variant of a known format.
    #[error("it is a rare variant of {0} that is not decoded here; save it as an ordinary one")]
    RareKind(Format),
    /// The target does not accept the type, and it cannot be converted.
    #[error("it is {found}, and the target accepts only {accepted}")]
    NotAccepted {
        /// The type of the image.
        found: String,
        /// The accepted types.
        accepted: String,
    },
    /// Decoding it would exceed the limits of this process.
    #[error("decoding it would take {needed}, and at most {allowed} are allowed")]
    OverBounds {
        /// The amount that decoding needs.
        needed: String,
        /// The limit.
        allowed: String,
    },
    /// No attempt brought it within the limit.
    #[error("it cannot be brought within {limit}; tried {tried}")]
    CannotFit {
        /// The target's limit.
        limit: String,
        /// The attempts.
        tried: String,
    },
    /// Decoding timed out or was cancelled.
    #[error("decoding it took too long and was stopped")]
    Stopped,
    /// Too many images are being decoded; the only problem not caused by the image.
    #[error("too many images are being decoded at the same time; try again in a moment")]
    Busy,
    /// The decoder failed unexpectedly.
    #[error("it made the decoder fail; save it again and retry")]
    DecoderFailed,
}

impl Problem {
    /// The error for a chain: this target cannot accept the request, but is healthy.
    /// `image` counts the request's images from one.
    pub fn into_error(self, image: usize) -> Error {
        let text = format!("image {image}: {self}");
        match self {
            Self::Busy => {
                Error::new(ErrorKind::Overloaded, text).with_retry_after(Some(RETRY_AFTER))
            }
            _ => Error::new(ErrorKind::Unsupported, text),
        }
    }
}

impl From<HeaderError> for Problem {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Empty => Self::Empty,
            HeaderError::Unrecognised => Self::Unrecognised,
            HeaderError::NotParsed(format) => Self::NotOpened(format),
            HeaderError::Damaged(format) => Self::Damaged(format),
            HeaderError::NoPixels => Self::NoPixels,
        }
    }
}

impl From<CodecError> for Problem {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Damaged(format) => Self::Damaged(format),
            CodecError::Unsupported(format) => Self::NotOpened(format),
            CodecError::UnsupportedKind(format) => Self::RareKind(format),
            CodecError::OverMemory { needed, allowed } => Self::OverBounds {
                needed: format!("{} of memory", human_bytes(needed)),
                allowed: human_bytes(allowed),
            },
            CodecError::Stopped => Self::Stopped,
            CodecError::Failed => Self::DecoderFailed,
        }
    }
}

/// Parses the header of a JPEG, PNG, GIF or WebP.
///
/// ```
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let header = majordomo_media::measure(gif).unwrap();
/// assert_eq!((header.width, header.height), (32, 16));
/// ```
pub fn measure(data: &[u8]) -> Result<Header, Problem> {
    Ok(majordomo_image_header::measure(data)?)
}
