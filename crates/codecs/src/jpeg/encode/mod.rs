//! JPEG encoding, and estimates of the encoded size.

mod fdct;
mod huffman;
mod markers;
mod mcu_rows;
#[cfg(test)]
mod tests;

use std::io::Write;

use fearless_simd::{Simd, dispatch};

use crate::budgeted_writer::BudgetedWriter;
use crate::jpeg::marker::EOI;
use crate::picture::{ChromaSize, Layout, Picture};
use crate::simd_level::level;
use crate::{CodecError, Job};
use fdct::{Factors, fdct};
use huffman::{BitWriter, HuffmanCodes};
use mcu_rows::{McuRows, ROWS};

/// Luma rows per row of MCUs.
const MCU_ROWS: u32 = 16;
/// A size estimate encodes one in this many rows of MCUs.
const SAMPLE_INTERVAL: u32 = 6;
/// Bytes of the marker segments.
const HEADER_BYTES: u64 = 620;

/// Encodes a baseline JPEG with 4:2:0 chroma subsampling.
pub(crate) fn encode(
    picture: &Picture,
    quality: u8,
    job: &Job,
    out: &mut impl Write,
) -> Result<(), CodecError> {
    let failed = |_| CodecError::Failed;
    let side = |length: u32| u16::try_from(length).map_err(|_| CodecError::Failed);
    let (width, height) = (side(picture.width)?, side(picture.height)?);
    if width == 0 || height == 0 {
        return Err(CodecError::Failed);
    }
    let quantization = markers::quantization_tables(quality);
    let gray = picture.layout == Layout::Gray;
    out.write_all(&markers::file_header(width, height, gray, &quantization))
        .map_err(failed)?;
    let mut writer = JpegWriter {
        mcu_rows: McuRows::new(picture.width, picture.height, job)?,
        factors: quantization.map(|quantization| Factors::new(&quantization)),
        codes: [
            HuffmanCodes::new(&huffman::DC_LUMA, &huffman::AC_LUMA),
            HuffmanCodes::new(&huffman::DC_CHROMA, &huffman::AC_CHROMA),
        ],
        dc_predictors: [0; 3],
        bits: BitWriter::default(),
    };
    let level = level();
    for top in (0..usize::from(height)).step_by(ROWS) {
        dispatch!(level, simd => writer.write_mcu_row(simd, picture, top));
        out.write_all(&writer.bits.bytes).map_err(failed)?;
        writer.bits.bytes.clear();
    }
    writer.bits.finish();
    writer.bits.bytes.extend([0xFF, EOI]);
    out.write_all(&writer.bits.bytes).map_err(failed)
}

/// The state of an encoder between rows of MCUs.
struct JpegWriter {
    mcu_rows: McuRows,
    factors: [Factors; 2],
    codes: [HuffmanCodes; 2],
    dc_predictors: [i16; 3],
    bits: BitWriter,
}

impl JpegWriter {
    /// Encodes the row of MCUs at `top`. Everything that it calls is inlined, so that all
    /// of it is compiled for each SIMD level.
    #[inline(always)]
    fn write_mcu_row<S: Simd>(&mut self, simd: S, picture: &Picture, top: usize) {
        self.mcu_rows.fill(picture, top);
        let Self {
            mcu_rows,
            factors,
            codes,
            dc_predictors,
            bits,
        } = self;
        let stride = mcu_rows.stride;
        let [luma, chroma] = factors;
        if picture.layout == Layout::Gray {
            let rows = (picture.height as usize - top).min(ROWS);
            for y in (0..rows).step_by(8) {
                for x in (0..picture.width as usize).step_by(8) {
                    let pixels = pixels(&mcu_rows.luma, stride, x, y);
                    write_block(
                        (simd, &mut *bits),
                        &pixels,
                        luma,
                        &mut dc_predictors[0],
                        &codes[0],
                    );
                }
            }
            return;
        }
        for x in (0..stride).step_by(16) {
            for (x, y) in [(x, 0), (x + 8, 0), (x, 8), (x + 8, 8)] {
                let pixels = pixels(&mcu_rows.luma, stride, x, y);
                write_block(
                    (simd, &mut *bits),
                    &pixels,
                    luma,
                    &mut dc_predictors[0],
                    &codes[0],
                );
            }
            for (plane, dc_predictor) in [&mcu_rows.cb, &mcu_rows.cr]
                .into_iter()
                .zip(&mut dc_predictors[1..])
            {
                let pixels = pixels(plane, stride / 2, x / 2, 0);
                write_block((simd, &mut *bits), &pixels, chroma, dc_predictor, &codes[1]);
            }
        }
    }
}

#[inline(always)]
fn write_block<S: Simd>(
    (simd, bits): (S, &mut BitWriter),
    pixels: &[[u8; 8]; 8],
    factors: &Factors,
    dc_predictor: &mut i16,
    codes: &HuffmanCodes,
) {
    let mut block = [0; 64];
    let more = fdct(simd, pixels, factors, &mut block);
    bits.write_block(&block, more, dc_predictor, codes);
}

/// Returns the 8×8 block of samples at `x`, `y`.
#[inline(always)]
fn pixels(plane: &[u8], stride: usize, x: usize, y: usize) -> [[u8; 8]; 8] {
    let mut rows = [[0; 8]; 8];
    for (row, line) in rows.iter_mut().zip(plane.chunks_exact(stride).skip(y)) {
        row.copy_from_slice(&line[x..x + 8]);
    }
    rows
}

/// Estimates the encoded size in bytes.
///
/// Rows of MCUs are coded independently, so encoding a sixth of them predicts the size
/// within a few percent, at a sixth of the cost.
pub fn estimate_jpeg_size(picture: &Picture, quality: u8, job: &Job) -> Result<u64, CodecError> {
    let blocks = picture.height.div_ceil(MCU_ROWS);
    let sampled = blocks.div_ceil(SAMPLE_INTERVAL);
    let mut out = BudgetedWriter::new(None, job)?;
    encode(
        &sampled_rows(picture, sampled, job)?,
        quality,
        job,
        &mut out,
    )?;
    let body = (out.out.len() as u64).saturating_sub(HEADER_BYTES);
    Ok(body * u64::from(blocks) / u64::from(sampled) + HEADER_BYTES)
}

/// Builds a picture of the sampled rows of MCUs: the middle one of each group.
fn sampled_rows(picture: &Picture, sampled: u32, job: &Job) -> Result<Picture, CodecError> {
    let height = sampled * MCU_ROWS;
    let source = |row: u32| {
        let block = row / MCU_ROWS * SAMPLE_INTERVAL + SAMPLE_INTERVAL / 2;
        (block * MCU_ROWS + row % MCU_ROWS).min(picture.height - 1)
    };
    let mut layout = picture.layout;
    let data = if let Some([y, cb, cr]) = picture.planes() {
        let width = y.width as usize + cb.width as usize;
        let mut data = job.memory.with_room(width * height as usize)?;
        for row in 0..height {
            data.append(y.row_aligned_with(source(row), &y))?;
        }
        for plane in [cb, cr] {
            for row in (0..height).step_by(2) {
                data.append(plane.row_aligned_with(source(row), &y))?;
            }
        }
        layout = Layout::YCbCr(ChromaSize {
            width: cb.width,
            height: height / 2,
        });
        data
    } else {
        let length = picture.width as usize * picture.layout.bytes_per_pixel().unwrap_or(1);
        let mut data = job.memory.with_room(length * height as usize)?;
        for row in 0..height {
            let start = source(row) as usize * length;
            data.append(&picture.data[start..start + length])?;
        }
        data
    };
    Ok(Picture {
        width: picture.width,
        height,
        layout,
        data,
    })
}
