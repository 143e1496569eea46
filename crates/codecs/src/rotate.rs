//! EXIF orientations applied to pixels.

use majordomo_image_header::Orientation;

/// Rotates and mirrors pixels of `N` bytes upright.
pub(crate) fn apply_orientation<const N: usize>(
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

    /// The letter F, 3×4 pixels, as stored in each orientation.
    #[test]
    fn every_exif_orientation_becomes_upright() {
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
            let turned = apply_orientation::<1>(pixels.as_bytes(), width, 12 / width, how);
            assert_eq!(String::from_utf8_lossy(&turned), "##.#..##.#..", "{value}");
        }
    }
}
