//! Why a header cannot be read.

use std::error::Error;
use std::fmt;

use crate::Format;

/// Why [`measure`](crate::measure) returns no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The input is empty.
    Empty,
    /// The magic bytes belong to no known format.
    Unrecognised,
    /// The format is recognised, but its header is not parsed.
    NotParsed(Format),
    /// The header is truncated or violates its format.
    Damaged(Format),
    /// The width or the height is zero.
    NoPixels,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the input is empty"),
            Self::Unrecognised => f.write_str("not a known image format"),
            Self::NotParsed(format) => write!(f, "{format} headers are not parsed"),
            Self::Damaged(format) => write!(f, "the {format} header is damaged or incomplete"),
            Self::NoPixels => f.write_str("the image has no pixels"),
        }
    }
}

impl Error for HeaderError {}
