//! Why an image cannot be sent, in sentences for people.
//!
//! The texts name limits and formats only: never a file, an address or the
//! library that failed.

use std::time::Duration;

use majordomo_codecs::CodecError;
use majordomo_image_header::{Format, Header, HeaderError};
use majordomo_llm::{Error, ErrorKind};

/// When to come back if all places are taken.
const SOON: Duration = Duration::from_secs(1);

/// Why an image cannot be sent to a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// The bytes belong to no image format.
    #[error("its bytes are no image that is known here; attach a JPEG, PNG, GIF or WebP")]
    Unrecognised,
    /// The picture has a side of zero pixels.
    #[error("it has no pixels")]
    NoPixels,
    /// The bytes break the rules of their format.
    #[error("its {0} data is damaged or incomplete")]
    Damaged(Format),
    /// The format is known by name only, so pictures of it cannot be measured or changed.
    #[error("it is {0}, which is not opened here; convert it to JPEG or PNG first")]
    NotOpened(Format),
    /// A rare kind of a known format.
    #[error("it is a rare kind of {0} that is not opened here; save it as an ordinary one")]
    RareKind(Format),
    /// The target does not take the type, and it cannot be converted.
    #[error("it is {found}, and the target takes only {accepted}")]
    NotAccepted {
        /// What it is.
        found: String,
        /// What would be taken.
        accepted: String,
    },
    /// Opening it would take more than the bounds of this process allow.
    #[error("opening it would take {needed}, and at most {allowed} are allowed")]
    OverBounds {
        /// What it would take.
        needed: String,
        /// What is allowed.
        allowed: String,
    },
    /// No attempt brought it within the limit.
    #[error("it cannot be brought within {limit}; tried {tried}")]
    CannotFit {
        /// The target's limit.
        limit: String,
        /// What was tried.
        tried: String,
    },
    /// It took too long, or nobody wants the result any more.
    #[error("opening it took too long and was stopped")]
    Stopped,
    /// Too many images are being opened; the only problem that is not the image's.
    #[error("too many images are being opened at the same time; try again in a moment")]
    Busy,
    /// The decoder failed in a way that it should not.
    #[error("it made the decoder fail; save it anew and try again")]
    DecoderFailed,
}

impl Problem {
    /// The error for a chain: this target cannot take the request, and is not
    /// sick. `image` counts the request's images from one.
    pub fn into_error(self, image: usize) -> Error {
        let text = format!("image {image}: {self}");
        match self {
            Self::Busy => Error::new(ErrorKind::Local, text)
                .with_status(503)
                .with_retry_after(Some(SOON)),
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
