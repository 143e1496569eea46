//! Lossy WebP: the key frame of a VP8 video (RFC 6386), in planes.
//!
//! Rows of blocks are read, predicted, corrected and smoothed one after the
//! other, so that all work on a row is done while it is at hand.

mod bools;
mod differences;
mod header;
mod limits;
mod modes;
mod paint;
mod planes;
mod predict;
mod residuals;
mod small;
mod smooth;
mod tables;
#[cfg(test)]
pub(super) mod tests;
mod tokens;
mod transform;
mod window;

use fearless_simd::{Simd, dispatch};

use crate::Stop;
use crate::level::level;
use crate::picture::Picture;
use header::{Frame, Smoothing};
use modes::{Luma, Neighbours};
use paint::Left;
use planes::{Planes, SIDES};
use residuals::{Edge, Kind, Residuals, kinds};
use smooth::Blocks;

/// From so many bytes on, tables of coefficients save more time than it takes to
/// make them. Both ways see the same in all that an encoder can write.
const WORTH_TABLES: usize = if cfg!(fuzzing) { 0 } else { 8 << 10 };

/// Opens a frame; none if it is damaged or another kind, or the work is to end.
pub(super) fn decode(data: &[u8], size: (u32, u32), stop: &Stop) -> Option<Picture> {
    decode_by(data, size, stop, data.len() >= WORTH_TABLES)
}

fn decode_by(data: &[u8], size: (u32, u32), stop: &Stop, with_tables: bool) -> Option<Picture> {
    let frame = header::read(data)?;
    if (frame.width as u32, frame.height as u32) != size || size.0 == 0 || size.1 == 0 {
        return None;
    }
    let level = level();
    let mut decoder = Decoder::new(frame, with_tables);
    for row in 0..decoder.down {
        if stop.is_stopped() {
            return None;
        }
        dispatch!(level, simd => decoder.row(simd, row));
        let frame = &decoder.frame;
        let part = &frame.parts[row % frame.parts.len()];
        if frame.modes.is_exhausted() || part.is_exhausted() {
            return None;
        }
    }
    let Frame { width, height, .. } = decoder.frame;
    Some(decoder.planes.finish(width, height))
}

struct Decoder<'a> {
    frame: Frame<'a>,
    /// Blocks beside and below each other.
    across: usize,
    down: usize,
    planes: Planes,
    /// The last row of pixels before it was smoothed, of each plane, with one
    /// pixel before it.
    above: [Vec<u8>; 3],
    neighbours: Neighbours,
    kinds: Vec<Kind>,
    edges: Vec<Edge>,
    /// The last columns of pixels of the block before.
    left: Left,
    residuals: Residuals,
    /// How the blocks of this row are smoothed, and whether they have detail.
    smoothing: Vec<(Smoothing, bool)>,
}

impl<'a> Decoder<'a> {
    fn new(frame: Frame<'a>, with_tables: bool) -> Self {
        let (across, down) = (frame.width.div_ceil(16), frame.height.div_ceil(16));
        Self {
            planes: Planes::new(across, down),
            // Four more, right of the last block.
            above: SIDES.map(|side| vec![127; 1 + across * side + 4]),
            neighbours: Neighbours::new(across),
            kinds: kinds(&frame.chances, with_tables),
            edges: vec![Edge::default(); across],
            left: Left::NOTHING,
            residuals: Residuals::new(),
            smoothing: vec![(Smoothing::default(), false); across],
            frame,
            across,
            down,
        }
    }

    #[inline(always)]
    fn row<S: Simd>(&mut self, simd: S, row: usize) {
        self.neighbours.start_row();
        self.start_painting(row);
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
                coded = self
                    .residuals
                    .read(bools, &self.kinds, steps, has_means, edges);
            }
            self.smoothing[column] = (
                self.frame.smoothing[block.segment][usize::from(!has_means)],
                coded || !has_means,
            );
            self.paint(simd, &block, row, column);
        }
        let planes = self.planes.each().into_iter();
        for (plane, (above, side)) in planes.zip(self.above.iter_mut().zip(SIDES)) {
            let stride = self.across * side;
            let last = ((row + 1) * side - 1) * stride;
            above[1..=stride].copy_from_slice(&plane[last..last + stride]);
            let end = above[stride];
            above[stride + 1..].fill(end);
        }
        self.smooth(simd, row);
        self.planes.spread(row);
    }

    /// Makes the edges of the blocks of a row less visible.
    #[inline(always)]
    fn smooth<S: Simd>(&mut self, simd: S, row: usize) {
        let simple = self.frame.simple;
        let [luma, blue, red] = self.planes.each();
        let mut luma = Blocks::<1, 16>::new([luma], self.across, row);
        let mut colors = Blocks::<2, 8>::new([blue, red], self.across, row);
        for (column, (how, has_detail)) in self.smoothing.iter().enumerate() {
            if how.level == 0 {
                continue;
            }
            luma.smooth(simd, column, *how, simple, *has_detail);
            if !simple {
                colors.smooth(simd, column, *how, false, *has_detail);
            }
        }
    }
}
