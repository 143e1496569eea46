//! The size at which a decoded picture will be used.

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
