//! EXIF orientations applied to pixels.

use std::ops::Range;

use fearless_simd::{Simd, dispatch};
use majordomo_image_header::Orientation;

use crate::scale::transpose_tile;
use crate::simd_level::level;
use crate::{CodecError, Job};

/// Pixels of a side of the tiles in which rows and columns are exchanged, so that both are
/// in the cache.
const TILE: usize = 32;
/// Pixels of a side of the tiles that SIMD instructions transpose.
const SIDE: usize = 16;
/// Source rows transposed together: as many as fill a cache line of the target.
pub(crate) const BAND: usize = 64;

/// Some rows of a plane, before it is turned.
#[derive(Clone)]
pub(crate) struct SourceRows<'a> {
    pub(crate) data: &'a [u8],
    /// Bytes per row.
    pub(crate) stride: usize,
    /// The numbers of these rows.
    pub(crate) rows: Range<usize>,
    /// Columns and rows of the whole plane.
    pub(crate) size: (usize, usize),
}

/// Rotates and mirrors rows of one-byte pixels upright; `out` is the whole turned plane.
/// Its cache lines are filled best by as many rows as [`BAND`].
pub(crate) fn turn_rows(source: SourceRows<'_>, orientation: Orientation, out: &mut [u8]) {
    let (width, height) = source.size;
    if orientation.transpose {
        let columns = match orientation.mirror_x {
            true => height - source.rows.end..height - source.rows.start,
            false => source.rows.clone(),
        };
        dispatch!(level(), simd => transpose_band(simd, &source, orientation, columns, out));
        return;
    }
    for (y, row) in source
        .rows
        .clone()
        .zip(source.data.chunks_exact(source.stride))
    {
        let y = mirrored(y, height, orientation.mirror_y);
        let out = &mut out[y * width..][..width];
        out.copy_from_slice(&row[..width]);
        if orientation.mirror_x {
            out.reverse();
        }
    }
}

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
    if N == 1 {
        for top in (0..height).step_by(BAND) {
            job.check()?;
            let source = SourceRows {
                data: &data[top * width..],
                stride: width,
                rows: top..(top + BAND).min(height),
                size: (width, height),
            };
            turn_rows(source, orientation, out.as_flattened_mut());
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
                // Downwards, or upwards if the row is mirrored.
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

/// Fills some columns of the target, of pixels of one byte, tile by tile.
#[inline(always)]
fn transpose_band<S: Simd>(
    simd: S,
    from: &SourceRows<'_>,
    orientation: Orientation,
    columns: Range<usize>,
    out: &mut [u8],
) {
    let (data, (width, height)) = (from.data, from.size);
    for x in (0..width).step_by(SIDE) {
        let across = SIDE.min(width - x);
        for left in columns.clone().step_by(SIDE) {
            let down = SIDE.min(columns.end - left);
            let row = |at| mirrored(left + at, height, orientation.mirror_x) - from.rows.start;
            let source = |at| row(at) * from.stride + x;
            let target = |at| mirrored(x + at, width, orientation.mirror_y) * height + left;
            let mut tile = [[0; SIDE]; SIDE];
            // Whole tiles are handled separately, because copies of a fixed length take one
            // instruction.
            if (across, down) == (SIDE, SIDE) {
                for (at, line) in tile.iter_mut().enumerate() {
                    *line = data[source(at)..]
                        .first_chunk()
                        .copied()
                        .unwrap_or_default();
                }
                for (at, line) in transpose_tile(simd, &tile).iter().enumerate() {
                    if let Some(to) = out[target(at)..].first_chunk_mut() {
                        *to = *line;
                    }
                }
                continue;
            }
            for (at, line) in tile.iter_mut().take(down).enumerate() {
                line[..across].copy_from_slice(&data[source(at)..][..across]);
            }
            for (at, line) in transpose_tile(simd, &tile).iter().take(across).enumerate() {
                out[target(at)..][..down].copy_from_slice(&line[..down]);
            }
        }
    }
}

fn mirrored(at: usize, length: usize, mirror: bool) -> usize {
    if mirror { length - 1 - at } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_and_orientation_moves_each_pixel_to_its_place() {
        for (width, height) in [(1, 1), (16, 16), (17, 70), (130, 15), (97, 131)] {
            let data: Vec<u8> = (0..width * height)
                .map(|at| (at * 37 % 251) as u8)
                .collect();
            for value in 1..=8 {
                let how = Orientation::from_exif(value);
                let mut out = vec![0; data.len()];
                let size = (width, height);
                apply_orientation::<1>(&data, size, how, &mut out, &Job::unlimited()).unwrap();
                let turned = if how.transpose { (height, width) } else { size };
                for (at, found) in out.iter().enumerate() {
                    let x = mirrored(at % turned.0, turned.0, how.mirror_x);
                    let y = mirrored(at / turned.0, turned.1, how.mirror_y);
                    let (x, y) = if how.transpose { (y, x) } else { (x, y) };
                    assert_eq!(*found, data[y * width + x], "{size:?}, {value}, {at}");
                }
            }
        }
    }

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
