//! The size at which a decoded picture will be used.

use majordomo_image_header::{Format, Header};

use crate::jpeg;
use crate::plane::Chroma;

/// The size that the caller needs, in pixels as stored.
#[derive(Clone, Copy, Debug)]
pub enum SizeHint {
    /// The picture is used once, at this size: it may already be reduced to it.
    ReduceTo((u32, u32)),
    /// The picture is kept for several sizes, of which this is the first: it must not be
    /// smaller.
    AtLeast((u32, u32)),
}

impl SizeHint {
    pub(crate) fn size(self) -> (u32, u32) {
        match self {
            Self::ReduceTo(size) | Self::AtLeast(size) => size,
        }
    }
}

/// The size of a decoded picture, and its minimum chroma.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodedSize {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Half the resolution, or all of it.
    pub chroma: Chroma,
}

/// The size at which a picture that is kept is decoded, for this first use.
///
/// Pictures of other sizes differ in more than their size, so they are not interchangeable:
/// the result would depend on which target came first.
pub fn decoded_size(header: &Header, wanted: (u32, u32), chroma: Chroma) -> DecodedSize {
    let size = (header.width, header.height);
    let decoded = match header.format {
        Format::Jpeg => jpeg::decoded_size(size, wanted),
        _ => size,
    };
    DecodedSize {
        width: decoded.0,
        height: decoded.1,
        // At full size, all chroma is decoded, even if less is needed.
        chroma: if decoded == size {
            Chroma::Full
        } else {
            chroma
        },
    }
}
