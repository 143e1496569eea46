//! The eight EXIF orientations.

/// The transformation that makes stored pixels upright: transpose first, then mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orientation {
    /// Swap rows and columns.
    pub transpose: bool,
    /// Mirror left and right, after the transposition.
    pub mirror_x: bool,
    /// Mirror top and bottom, after the transposition.
    pub mirror_y: bool,
}

impl Orientation {
    /// The stored pixels are upright.
    pub const UPRIGHT: Self = Self {
        transpose: false,
        mirror_x: false,
        mirror_y: false,
    };

    /// Maps an EXIF orientation value; anything outside 1 to 8 is upright.
    pub fn from_exif(value: u16) -> Self {
        let (transpose, mirror_x, mirror_y) = match value {
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, true, false),
            7 => (true, true, true),
            8 => (true, false, true),
            _ => (false, false, false),
        };
        Self {
            transpose,
            mirror_x,
            mirror_y,
        }
    }

    /// Whether the stored pixels are upright.
    pub fn is_upright(self) -> bool {
        self == Self::UPRIGHT
    }

    /// Width and height of the upright image.
    pub fn upright(self, width: u32, height: u32) -> (u32, u32) {
        if self.transpose {
            (height, width)
        } else {
            (width, height)
        }
    }
}
