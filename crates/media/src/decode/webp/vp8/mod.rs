//! Lossy WebP: the key frame of a VP8 video (RFC 6386), in planes.
//!
//! Rows of blocks are read, predicted, corrected and smoothed one after the
//! other, so that all work on a row is done while it is at hand.

mod bools;
mod header;
mod modes;
mod predict;
mod residuals;
mod smooth;
mod tables;
#[cfg(test)]
pub(super) mod tests;
mod transform;

use fearless_simd::dispatch;

use crate::Stop;
use crate::level::level;
use crate::picture::{Chroma, Layout, Picture};
use header::{Frame, Smoothing};
use modes::{Block, Luma, Neighbours};
use predict::{Canvas, START, STRIDE, predict, predict_small};
use residuals::{Edge, Residuals};
use smooth::Plane;
use transform::add;

/// Opens a frame; none if it is damaged or another kind, or the work is to end.
pub(super) fn decode(data: &[u8], size: (u32, u32), stop: &Stop) -> Option<Picture> {
    let frame = header::read(data)?;
    if (frame.width as u32, frame.height as u32) != size || size.0 == 0 || size.1 == 0 {
        return None;
    }
    let level = level();
    let mut decoder = Decoder::new(frame);
    for row in 0..decoder.down {
        if stop.is_stopped() {
            return None;
        }
        dispatch!(level, _ => decoder.row(row));
        let frame = &decoder.frame;
        let part = &frame.parts[row % frame.parts.len()];
        if frame.modes.is_exhausted() || part.is_exhausted() {
            return None;
        }
    }
    Some(dispatch!(level, _ => decoder.finish()))
}

struct Decoder<'a> {
    frame: Frame<'a>,
    /// Blocks beside and below each other.
    across: usize,
    down: usize,
    /// Brightness and both colours, in whole blocks.
    planes: [Vec<u8>; 3],
    /// The last row of pixels before it was smoothed, of each plane, with one
    /// pixel before it.
    above: [Vec<u8>; 3],
    neighbours: Neighbours,
    edges: Vec<Edge>,
    canvases: [Canvas; 3],
    residuals: Residuals,
    /// How the blocks of this row are smoothed, and whether they have detail.
    smoothing: Vec<(Smoothing, bool)>,
}

impl<'a> Decoder<'a> {
    fn new(frame: Frame<'a>) -> Self {
        let (across, down) = (frame.width.div_ceil(16), frame.height.div_ceil(16));
        let sides = [16, 8, 8];
        Self {
            planes: sides.map(|side| vec![0; across * down * side * side]),
            // Four more, right of the last block.
            above: sides.map(|side| vec![127; 1 + across * side + 4]),
            neighbours: Neighbours::new(across),
            edges: vec![Edge::default(); across],
            canvases: [[0; STRIDE * 17]; 3],
            residuals: Residuals::new(),
            smoothing: vec![(Smoothing::default(), false); across],
            frame,
            across,
            down,
        }
    }

    #[inline(always)]
    fn row(&mut self, row: usize) {
        self.neighbours.start_row();
        self.start_canvases(row);
        let mut left = Edge::default();
        for column in 0..self.across {
            let block = self.neighbours.read(&mut self.frame, column);
            let has_means = matches!(block.luma, Luma::Whole(_));
            let above = &mut self.edges[column];
            self.residuals.clear();
            let mut coded = false;
            if block.skipped {
                above.clear(has_means);
                left.clear(has_means);
            } else {
                let parts = self.frame.parts.len();
                let bools = &mut self.frame.parts[row % parts];
                let steps = &self.frame.steps[block.segment];
                let edges = (above, &mut left);
                let chances = &self.frame.chances;
                coded = self.residuals.read(bools, chances, steps, has_means, edges);
            }
            self.smoothing[column] = (
                self.frame.smoothing[block.segment][usize::from(!has_means)],
                coded || !has_means,
            );
            self.paint(&block, row, column);
        }
        for (plane, (above, side)) in self
            .planes
            .iter()
            .zip(self.above.iter_mut().zip([16, 8, 8]))
        {
            let stride = self.across * side;
            let last = ((row + 1) * side - 1) * stride;
            above[1..=stride].copy_from_slice(&plane[last..last + stride]);
            let end = above[stride];
            above[stride + 1..].fill(end);
        }
        self.smooth(row);
    }

    /// The neighbours of the first block of a row: nothing on the left.
    fn start_canvases(&mut self, row: usize) {
        let corner = if row == 0 { 127 } else { 129 };
        for (canvas, above) in self.canvases.iter_mut().zip(&mut self.above) {
            for line in canvas.chunks_exact_mut(STRIDE).skip(1) {
                line[START - STRIDE - 1] = 129;
            }
            above[0] = corner;
        }
    }

    /// Puts the pixels of a block together.
    #[inline(always)]
    fn paint(&mut self, block: &Block, row: usize, column: usize) {
        let (has_above, has_left) = (row > 0, column > 0);
        let [luma, blue, red] = &mut self.canvases;
        let residuals = &self.residuals;
        let [steps, color_steps] = residuals.steps;
        luma[START - STRIDE - 1..][..21].copy_from_slice(&self.above[0][column * 16..][..21]);
        match &block.luma {
            Luma::Whole(mode) => {
                predict::<16>(luma, *mode, has_above, has_left);
                for (at, count) in residuals.counts[..16].iter().enumerate() {
                    if *count > 0 {
                        let start = START + at / 4 * 4 * STRIDE + at % 4 * 4;
                        add(
                            &residuals.blocks[at],
                            steps,
                            *count,
                            &mut luma[start..],
                            STRIDE,
                        );
                    }
                }
            }
            Luma::Small(modes) => {
                // What is above on the right of the whole block stands for what
                // is there of the blocks inside.
                let right = START - STRIDE + 16;
                for y in [4, 8, 12] {
                    luma.copy_within(right..right + 4, right + y * STRIDE);
                }
                for (at, mode) in modes.iter().enumerate() {
                    let start = START + at / 4 * 4 * STRIDE + at % 4 * 4;
                    predict_small(luma, start, *mode);
                    let count = residuals.counts[at];
                    if count > 0 {
                        add(
                            &residuals.blocks[at],
                            steps,
                            count,
                            &mut luma[start..],
                            STRIDE,
                        );
                    }
                }
            }
        }
        for (canvas, (above, first)) in [blue, red]
            .into_iter()
            .zip(self.above[1..].iter().zip([16, 20]))
        {
            canvas[START - STRIDE - 1..][..9].copy_from_slice(&above[column * 8..][..9]);
            predict::<8>(canvas, block.color, has_above, has_left);
            for at in 0..4 {
                let count = residuals.counts[first + at];
                if count > 0 {
                    let start = START + at / 2 * 4 * STRIDE + at % 2 * 4;
                    add(
                        &residuals.blocks[first + at],
                        color_steps,
                        count,
                        &mut canvas[start..],
                        STRIDE,
                    );
                }
            }
        }
        let [luma, blue, red] = &mut self.planes;
        let across = self.across;
        hang::<16>(&mut self.canvases[0], luma, across, row, column);
        hang::<8>(&mut self.canvases[1], blue, across, row, column);
        hang::<8>(&mut self.canvases[2], red, across, row, column);
    }

    #[inline(always)]
    fn smooth(&mut self, row: usize) {
        let simple = self.frame.simple;
        let [luma, blue, red] = &mut self.planes;
        let stride = self.across * 16;
        let mut luma = Plane { data: luma, stride };
        let mut colors = [blue, red].map(|data| Plane {
            data,
            stride: stride / 2,
        });
        for (column, (how, has_detail)) in self.smoothing.iter().enumerate() {
            if how.level == 0 {
                continue;
            }
            let edges = (row > 0, column > 0);
            let at = row * 16 * stride + column * 16;
            luma.smooth::<16>(at, *how, simple, *has_detail, edges);
            if !simple {
                let at = row * 8 * (stride / 2) + column * 8;
                for plane in &mut colors {
                    plane.smooth::<8>(at, *how, simple, *has_detail, edges);
                }
            }
        }
    }

    /// The planes without what the last blocks had too much, in the full range
    /// that JPEG has: a video's black is 16, its white is 235.
    #[inline(always)]
    fn finish(self) -> Picture {
        let (width, height) = (self.frame.width, self.frame.height);
        let half = (width.div_ceil(2), height.div_ceil(2));
        let mut data = Vec::with_capacity(width * height + 2 * half.0 * half.1);
        let spread = |value: u8, from: i32, factor: i32, to: i32| {
            let value = (i32::from(value) - from) * factor + (to << 16) + (1 << 15);
            (value >> 16).clamp(0, 255) as u8
        };
        let [luma, blue, red] = self.planes;
        for row in luma.chunks_exact(self.across * 16).take(height) {
            // 255 parts in 219.
            data.extend(
                row[..width]
                    .iter()
                    .map(|value| spread(*value, 16, 76_309, 0)),
            );
        }
        for row in [blue, red]
            .iter()
            .flat_map(|plane| plane.chunks_exact(self.across * 8).take(half.1))
        {
            // 255 parts in 224, both ways from the middle.
            data.extend(
                row[..half.0]
                    .iter()
                    .map(|value| spread(*value, 128, 74_606, 128)),
            );
        }
        Picture {
            width: width as u32,
            height: height as u32,
            layout: Layout::Planes(Chroma {
                width: half.0 as u32,
                height: half.1 as u32,
            }),
            data,
        }
    }
}

/// Copies a finished block into its plane, and its last column to where the
/// next block has its left neighbours.
#[inline(always)]
fn hang<const SIDE: usize>(
    canvas: &mut Canvas,
    plane: &mut [u8],
    across: usize,
    row: usize,
    column: usize,
) {
    let stride = across * SIDE;
    let rows = plane[row * SIDE * stride..]
        .chunks_exact_mut(stride)
        .take(SIDE);
    for (line, out) in canvas[STRIDE..].chunks_exact_mut(STRIDE).zip(rows) {
        let pixels = &line[START - STRIDE..][..SIDE];
        out[column * SIDE..][..SIDE].copy_from_slice(pixels);
        line[START - STRIDE - 1] = line[START - STRIDE + SIDE - 1];
    }
}
