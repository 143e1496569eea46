//! Downscaling of 8-bit pixels, in pieces that bound the memory.
//!
//! The filter is Lanczos-3, stretched by the ratio: every source pixel contributes, so an
//! image-scaling attack does not reveal a hidden picture, and small text stays readable.
//! Large ratios are first reduced by means of whole blocks (`shrink`), so that neither the
//! weights nor the rows in flight grow with the ratio. Long rows are scaled in segments.

mod alpha;
mod kernel;
mod reducer;
mod shrink;
mod transpose;

use fearless_simd::Level;

use crate::{CodecError, Job};
use alpha::{premultiply, unpremultiply};
use shrink::BlockMeans;
use transpose::COLUMNS;

pub(crate) use reducer::Reducer;
pub(crate) use transpose::transpose_tile;

/// Lobes of the Lanczos kernel.
const LOBES: f64 = 3.0;
/// Bytes processed at once, which bounds the memory.
const WINDOW: usize = 4 << 20;
/// Bytes of a row that are scaled at once.
const SEGMENT: usize = WINDOW / COLUMNS;
/// Segments of pixels with alpha are shorter, since all their rows are copied.
const ALPHA_SEGMENT: usize = SEGMENT / 4;

/// The samples of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// One sample.
    One,
    /// Three independent samples.
    Three,
    /// Four independent samples.
    Four,
    /// Three samples weighted by the fourth, straight alpha.
    WithAlpha,
}

impl Channels {
    /// Bytes per pixel.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Three => 3,
            Self::Four | Self::WithAlpha => 4,
        }
    }
}

/// Pixels in rows without padding.
#[derive(Clone, Copy)]
pub struct PixelView<'a> {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The samples of a pixel.
    pub channels: Channels,
    /// All rows, top to bottom.
    pub data: &'a [u8],
}

impl PixelView<'_> {
    fn row_bytes(&self) -> usize {
        self.width as usize * self.channels.bytes()
    }

    fn bytes(&self) -> usize {
        self.row_bytes() * self.height as usize
    }
}

/// Scales pixels down.
#[derive(Default)]
pub struct Scaler {
    level: Option<Level>,
}

impl Scaler {
    /// Uses this SIMD level.
    pub fn with_level(level: Level) -> Self {
        Self { level: Some(level) }
    }

    /// Fills `out` with the scaled pixels.
    ///
    /// Fails if the data is too short, `out` does not have exactly the new size, a side is
    /// zero or would grow.
    pub fn scale(
        &self,
        source: PixelView<'_>,
        to: (u32, u32),
        out: &mut [u8],
        job: &Job,
    ) -> Result<(), CodecError> {
        let lengths = (f64::from(source.width), f64::from(source.height));
        self.scale_lengths(source, lengths, to, out, job)
    }

    /// Scales a source whose last column and row may be partial: `lengths` is its size in its
    /// own pixels.
    pub(crate) fn scale_lengths(
        &self,
        source: PixelView<'_>,
        lengths: (f64, f64),
        to: (u32, u32),
        out: &mut [u8],
        job: &Job,
    ) -> Result<(), CodecError> {
        let length = to.0 as usize * to.1 as usize * source.channels.bytes();
        let grows = to.0 > source.width || to.1 > source.height;
        if grows || length == 0 || out.len() != length || source.data.len() < source.bytes() {
            return Err(CodecError::Failed);
        }
        job.check()?;
        let from = (source.width, source.height);
        if from == to {
            out.copy_from_slice(&source.data[..length]);
            return Ok(());
        }
        let level = self.level.unwrap_or_else(Level::new);
        let Some(means) = BlockMeans::new(from, to) else {
            return reduce(level, source, lengths, to, out, job);
        };
        let (width, height) = means.size();
        let pixels = width as usize * height as usize;
        let mut fewer = job.memory.zeroed(pixels * source.channels.bytes())?;
        means.fill(source, &mut fewer, job)?;
        let source = PixelView {
            width,
            height,
            data: &fewer,
            ..source
        };
        reduce(level, source, means.lengths(lengths), to, out, job)
    }
}

/// Scales by a moderate ratio, segment by segment. `lengths` is the size of the source in
/// its own pixels, of which the last ones may be partial.
fn reduce(
    level: Level,
    source: PixelView<'_>,
    lengths: (f64, f64),
    to: (u32, u32),
    out: &mut [u8],
    job: &Job,
) -> Result<(), CodecError> {
    let pixel = source.channels.bytes();
    let has_alpha = source.channels == Channels::WithAlpha;
    let longest = if has_alpha { ALPHA_SEGMENT } else { SEGMENT };
    // Target columns whose source columns, without the reach of the filter, fill a segment.
    let columns = (longest as f64 / pixel as f64 / (lengths.0 / f64::from(to.0)).max(1.0)) as usize;
    let columns = columns.clamp(1, to.0 as usize);
    let from = (source.width, source.height);
    let row = source.row_bytes();
    let to_row = to.0 as usize * pixel;
    for left in (0..to.0 as usize).step_by(columns) {
        let range = left..(left + columns).min(to.0 as usize);
        let mut reducer = Reducer::of_columns(level, pixel, (from, lengths), to, range, job)?;
        let rows = reducer.batch_rows();
        let seen = reducer.source_columns();
        let mut copy = match has_alpha {
            true => job.memory.zeroed(rows.min(from.1 as usize) * seen.len())?,
            false => job.memory.zeroed(0)?,
        };
        let mut first = 0;
        while !reducer.is_done() {
            job.check()?;
            let end = (first + rows).min(source.height as usize);
            let batch = &source.data[first * row..end * row];
            first = if has_alpha {
                let copy = &mut copy[..(end - first) * seen.len()];
                let lines = batch.chunks_exact(row).map(|line| &line[seen.clone()]);
                for (line, copy) in lines.zip(copy.chunks_exact_mut(seen.len().max(1))) {
                    premultiply(line, copy);
                }
                reducer.feed_segment(copy, first, out, job)?
            } else {
                reducer.feed(batch, first, out, job)?
            };
        }
    }
    if has_alpha {
        for row in out.chunks_exact_mut(to_row) {
            job.check()?;
            unpremultiply(row);
        }
    }
    Ok(())
}
