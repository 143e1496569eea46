//! Lossy WebP: a VP8 key frame (RFC 6386), decoded to planar YCbCr.
//!
//! Each row of macroblocks is parsed, predicted, reconstructed and loop-filtered before the
//! next, while its data is in the cache. Section numbers in these modules are those of RFC
//! 6386.

mod bit_window;
mod bool_decoder;
mod coefficients;
mod frame_buffer;
mod frame_header;
mod intra_modes;
mod inverse_transform;
mod loop_filter;
mod predict_macroblock;
mod predict_subblocks;
mod reconstruct;
mod residue;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod token_reader;
mod token_tables;

use fearless_simd::{Simd, dispatch};

use crate::picture::Picture;
use crate::simd_level::level;
use crate::{CodecError, Job};
use coefficients::{BlockTypeProbs, Coefficients, NonzeroContext, block_types};
use frame_buffer::{FrameBuffer, SIDES};
use frame_header::{FrameHeader, LoopFilterParams};
use intra_modes::{LumaMode, ModeContext};
use loop_filter::MacroblockRow;
use reconstruct::LeftColumn;

/// Frame size in bytes from which token tables cost less than they save. Both paths decode every
/// valid stream identically.
const MIN_TABLE_BYTES: usize = if cfg!(fuzzing) { 0 } else { 8 << 10 };

/// Decodes a key frame; `None` if it is damaged or unsupported.
pub(super) fn decode(
    data: &[u8],
    size: (u32, u32),
    job: &Job,
) -> Result<Option<Picture>, CodecError> {
    decode_by(data, size, job, data.len() >= MIN_TABLE_BYTES)
}

fn decode_by(
    data: &[u8],
    size: (u32, u32),
    job: &Job,
    with_tables: bool,
) -> Result<Option<Picture>, CodecError> {
    let Some(frame) = frame_header::parse(data) else {
        return Ok(None);
    };
    if (frame.width as u32, frame.height as u32) != size || size.0 == 0 || size.1 == 0 {
        return Ok(None);
    }
    let level = level();
    let mut decoder = FrameDecoder::new(frame, with_tables, job)?;
    for row in 0..decoder.mb_rows {
        job.check()?;
        dispatch!(level, simd => decoder.row(simd, row));
        let frame = &decoder.frame;
        let partition = &frame.token_partitions[row % frame.token_partitions.len()];
        if frame.first_partition.is_exhausted() || partition.is_exhausted() {
            return Ok(None);
        }
    }
    let FrameHeader { width, height, .. } = decoder.frame;
    Ok(Some(decoder.buffer.finish(width, height)))
}

struct FrameDecoder<'a> {
    frame: FrameHeader<'a>,
    /// Macroblock columns and rows.
    mb_cols: usize,
    mb_rows: usize,
    buffer: FrameBuffer,
    /// The bottom row of the macroblocks above, before loop filtering, per plane, preceded
    /// by one pixel.
    above_rows: [Vec<u8>; 3],
    modes: ModeContext,
    block_types: Vec<BlockTypeProbs>,
    above_contexts: Vec<NonzeroContext>,
    /// The right column of the previous macroblock.
    left: LeftColumn,
    coefficients: Coefficients,
    /// Loop filter parameters of this row, and whether subblock edges are filtered.
    filters: Vec<(LoopFilterParams, bool)>,
}

impl<'a> FrameDecoder<'a> {
    fn new(frame: FrameHeader<'a>, with_tables: bool, job: &Job) -> Result<Self, CodecError> {
        let (mb_cols, mb_rows) = (frame.width.div_ceil(16), frame.height.div_ceil(16));
        Ok(Self {
            buffer: FrameBuffer::new(mb_cols, mb_rows, job)?,
            // Four more pixels for the above-right subblock of the last macroblock.
            above_rows: SIDES.map(|side| vec![127; 1 + mb_cols * side + 4]),
            modes: ModeContext::new(mb_cols),
            block_types: block_types(&frame.coeff_probs, with_tables),
            above_contexts: vec![NonzeroContext::default(); mb_cols],
            left: LeftColumn::OUTSIDE,
            coefficients: Coefficients::new(),
            filters: vec![(LoopFilterParams::default(), false); mb_cols],
            frame,
            mb_cols,
            mb_rows,
        })
    }

    #[inline(always)]
    fn row<S: Simd>(&mut self, simd: S, row: usize) {
        self.modes.start_row();
        self.start_row(row);
        let mut left_context = NonzeroContext::default();
        for column in 0..self.mb_cols {
            let block = self.modes.read_macroblock_header(&mut self.frame, column);
            let has_y2 = matches!(block.luma, LumaMode::Macroblock(_));
            let above = &mut self.above_contexts[column];
            self.coefficients.clear();
            let mut coded = false;
            if block.skip {
                above.clear(has_y2);
                left_context.clear(has_y2);
            } else {
                let partitions = self.frame.token_partitions.len();
                let bools = &mut self.frame.token_partitions[row % partitions];
                let factors = &self.frame.dequant[block.segment_id];
                let contexts = (above, &mut left_context);
                coded = self
                    .coefficients
                    .read(bools, &self.block_types, factors, has_y2, contexts);
            }
            self.filters[column] = (
                self.frame.filters[block.segment_id][usize::from(!has_y2)],
                coded || !has_y2,
            );
            self.reconstruct(simd, &block, row, column);
        }
        let planes = self.buffer.planes().into_iter();
        for (plane, (above, side)) in planes.zip(self.above_rows.iter_mut().zip(SIDES)) {
            let stride = self.mb_cols * side;
            let last = ((row + 1) * side - 1) * stride;
            above[1..=stride].copy_from_slice(&plane[last..last + stride]);
            let end = above[stride];
            above[stride + 1..].fill(end);
        }
        self.loop_filter(simd, row);
        self.buffer.expand_range(row);
    }

    /// Loop-filters a row of macroblocks (section 15).
    #[inline(always)]
    fn loop_filter<S: Simd>(&mut self, simd: S, row: usize) {
        let simple = self.frame.simple_filter;
        let [y, u, v] = self.buffer.planes();
        let mut luma = MacroblockRow::<1, 16>::new([y], self.mb_cols, row);
        let mut chroma = MacroblockRow::<2, 8>::new([u, v], self.mb_cols, row);
        for (column, (params, filter_inside)) in self.filters.iter().enumerate() {
            if params.level == 0 {
                continue;
            }
            luma.filter(simd, column, *params, simple, *filter_inside);
            if !simple {
                chroma.filter(simd, column, *params, false, *filter_inside);
            }
        }
    }
}
