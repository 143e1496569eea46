//! The size at which a decoded picture will be used.

use majordomo_image_header::{Format, Header};

use crate::jpeg;

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

/// The size at which a picture that is kept is decoded, for this first use.
///
/// Pictures of other sizes differ in more than their size, so they are not interchangeable:
/// the result would depend on which target came first.
pub fn decoded_size(header: &Header, wanted: (u32, u32)) -> (u32, u32) {
    let size = (header.width, header.height);
    match header.format {
        Format::Jpeg => jpeg::decoded_size(size, wanted),
        _ => size,
    }
}
