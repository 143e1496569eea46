//! How a camera was held: the eight EXIF orientations.

/// What must be done to the stored pixels so that the picture stands upright:
/// first swap rows and columns, then mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orientation {
    /// Rows become columns.
    pub transpose: bool,
    /// Left and right are exchanged, after the transposition.
    pub mirror_x: bool,
    /// Top and bottom are exchanged, after the transposition.
    pub mirror_y: bool,
}

impl Orientation {
    /// Nothing to do.
    pub const UPRIGHT: Self = Self {
        transpose: false,
        mirror_x: false,
        mirror_y: false,
    };

    /// The meaning of an EXIF value; what is not 1 to 8 counts as upright.
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

    /// Whether the stored pixels are upright already.
    pub fn is_upright(self) -> bool {
        self == Self::UPRIGHT
    }

    /// Width and height of the upright picture.
    pub fn upright(self, width: u32, height: u32) -> (u32, u32) {
        if self.transpose {
            (height, width)
        } else {
            (width, height)
        }
    }
}

/// Turns pixels of `N` bytes upright.
pub(crate) fn turn<const N: usize>(
    data: &[u8],
    width: usize,
    height: usize,
    orientation: Orientation,
) -> Vec<u8> {
    let (pixels, _) = data.as_chunks::<N>();
    let (out_width, out_height) = if orientation.transpose {
        (height, width)
    } else {
        (width, height)
    };
    let mut out = Vec::with_capacity(pixels.len() * N);
    for y in 0..out_height {
        let y = if orientation.mirror_y {
            out_height - 1 - y
        } else {
            y
        };
        for x in 0..out_width {
            let x = if orientation.mirror_x {
                out_width - 1 - x
            } else {
                x
            };
            let at = if orientation.transpose {
                x * width + y
            } else {
                y * width + x
            };
            out.extend_from_slice(&pixels[at]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letter F, three pixels wide and four high, as eight cameras store it.
    #[test]
    fn every_exif_value_is_turned_upright() {
        let stored = [
            (1, 3, "##.#..##.#.."),
            (2, 3, ".##..#.##..#"),
            (3, 3, "..#.##..#.##"),
            (4, 3, "#..##.#..##."),
            (5, 4, "#####.#....."),
            (6, 4, "....#.#.####"),
            (7, 4, ".....#.#####"),
            (8, 4, "####.#.#...."),
            (9, 3, "##.#..##.#.."),
        ];
        for (value, width, pixels) in stored {
            let how = Orientation::from_exif(value);
            let turned = turn::<1>(pixels.as_bytes(), width, 12 / width, how);
            assert_eq!(String::from_utf8_lossy(&turned), "##.#..##.#..", "{value}");
        }
    }
}
