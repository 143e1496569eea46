//! EXIF orientations applied to pixels.

use majordomo_image_header::Orientation;

use crate::{CodecError, Job};

/// Pixels of a side of the tiles in which rows and columns are exchanged, so that both are
/// in the cache.
const TILE: usize = 32;

/// Rotates and mirrors pixels of `N` bytes upright.
pub(crate) fn apply_orientation<const N: usize>(
    data: &[u8],
    (width, height): (usize, usize),
    orientation: Orientation,
    out: &mut [u8],
    job: &Job,
) -> Result<(), CodecError> {
    let pixels = data.as_chunks::<N>().0;
    let out = out.as_chunks_mut::<N>().0;
    if !orientation.transpose {
        for (y, row) in out.chunks_exact_mut(width).enumerate() {
            if y.is_multiple_of(TILE) {
                job.check()?;
            }
            let y = mirrored(y, height, orientation.mirror_y);
            row.copy_from_slice(&pixels[y * width..][..width]);
            if orientation.mirror_x {
                row.reverse();
            }
        }
        return Ok(());
    }
    for (band, rows) in out.chunks_mut(height * TILE).enumerate() {
        job.check()?;
        for left in (0..height).step_by(TILE) {
            let columns = left..(left + TILE).min(height);
            for (y, row) in rows.chunks_exact_mut(height).enumerate() {
                // The column of the source that becomes this row.
                let column = mirrored(band * TILE + y, width, orientation.mirror_y);
                let start = mirrored(left, height, orientation.mirror_x) * width + column;
                let row = &mut row[columns.clone()];
                // Downwards, or upwards where the row is mirrored.
                if orientation.mirror_x {
                    for (at, pixel) in row.iter_mut().enumerate() {
                        *pixel = pixels[start - at * width];
                    }
                } else {
                    for (pixel, from) in row.iter_mut().zip(pixels[start..].iter().step_by(width)) {
                        *pixel = *from;
                    }
                }
            }
        }
    }
    Ok(())
}

fn mirrored(at: usize, length: usize, mirror: bool) -> usize {
    if mirror { length - 1 - at } else { at }
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
            let mut turned = [0; 12];
            let size = (width, 12 / width);
            apply_orientation::<1>(pixels.as_bytes(), size, how, &mut turned, &Job::unlimited())
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&turned), "##.#..##.#..", "{value}");
        }
    }
}
