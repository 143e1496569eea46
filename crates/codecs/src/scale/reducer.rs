//! Streaming reduction by moderate ratios.
//!
//! Rows are scaled vertically as they arrive. A strip of the result is transposed, scaled
//! in the same way, and transposed back, all while it is in the cache.

use std::ops::Range;

use fearless_simd::{Level, dispatch};

use super::kernel::{Axis, LanczosKernel, Rows};
use super::shrink::BlockMeans;
use super::transpose::{COLUMNS, to_columns, to_rows};
use super::{Channels, SEGMENT};
use crate::memory::Buffer;
use crate::{CodecError, Job};

/// Source pixels of a strip scaled horizontally at once, without the reach of the filter.
const SPAN: f64 = 512.0;
/// Target rows per batch, if the source has rows for them.
const GROUP: usize = 8;

/// Scales rows down while they are decoded, or some columns of them.
pub(crate) struct Reducer {
    level: Level,
    /// Bytes per pixel.
    pixel: usize,
    across: Axis,
    down: Axis,
    /// The target columns.
    columns: Range<usize>,
    /// The bytes of a source row that contribute to them.
    source: Range<usize>,
    horizontal: Option<LanczosKernel>,
    /// The weights of the current strip.
    vertical: Option<LanczosKernel>,
    /// Target rows scaled vertically.
    finished: usize,
    /// Vertically scaled rows of the current strip.
    strip_buffer: Buffer,
    /// The transposed strip, before and after horizontal scaling.
    columns_buffers: [Buffer; 2],
}

impl Reducer {
    /// A reducer of whole rows; `None` if the channels or the sizes need another method.
    pub(crate) fn new(
        level: Level,
        channels: Channels,
        from: (u32, u32),
        to: (u32, u32),
        job: &Job,
    ) -> Result<Option<Self>, CodecError> {
        let shrinks = to.0 > 0 && to.1 > 0 && to.0 <= from.0 && to.1 <= from.1 && from != to;
        let is_short = from.0 as usize * channels.bytes() <= SEGMENT;
        let is_simple = channels != Channels::WithAlpha && shrinks && is_short;
        if !is_simple || BlockMeans::new(from, to).is_some() {
            return Ok(None);
        }
        let lengths = (f64::from(from.0), f64::from(from.1));
        let columns = 0..to.0 as usize;
        Self::of_columns(level, channels.bytes(), (from, lengths), to, columns, job).map(Some)
    }

    /// A reducer to some columns of the target.
    pub(super) fn of_columns(
        level: Level,
        pixel: usize,
        (from, lengths): ((u32, u32), (f64, f64)),
        to: (u32, u32),
        columns: Range<usize>,
        job: &Job,
    ) -> Result<Self, CodecError> {
        let axis = |from, length, to| Axis { from, length, to };
        let across = axis(from.0, lengths.0, to.0);
        let down = axis(from.1, lengths.1, to.1);
        let (first, _) = across.source(columns.start);
        let (_, end) = across.source(columns.end - 1);
        let source = first * pixel..end * pixel;
        let horizontal = match across.from == across.to {
            true => None,
            false => Some(LanczosKernel::new(across, columns.clone(), job)?),
        };
        let strip_rows = COLUMNS.min(to.1 as usize) * usize::from(horizontal.is_some());
        let span = span(across);
        let seen = (span as f64 * across.ratio()).ceil() as usize + across.max_taps();
        let lanes = pixel * COLUMNS * usize::from(horizontal.is_some());
        Ok(Self {
            level,
            pixel,
            across,
            down,
            columns,
            strip_buffer: job.memory.zeroed(strip_rows * source.len())?,
            columns_buffers: [
                job.memory.zeroed(seen * lanes)?,
                job.memory.zeroed(span * lanes)?,
            ],
            source,
            horizontal,
            vertical: None,
            finished: 0,
        })
    }

    /// The bytes of a source row that contribute.
    pub(super) fn source_columns(&self) -> Range<usize> {
        self.source.clone()
    }

    /// How many source rows to feed at a time: enough to finish at least one target row.
    pub(crate) fn batch_rows(&self) -> usize {
        self.down.max_taps() + GROUP * self.down.ratio().ceil() as usize
    }

    /// Whether all target rows are finished.
    pub(crate) fn is_done(&self) -> bool {
        self.finished == self.down.to as usize
    }

    /// Processes whole source rows, the first of which has number `first`; `out` is the
    /// whole target. Returns the first row that must be fed again, with all that follow.
    pub(crate) fn feed(
        &mut self,
        rows: &[u8],
        first: usize,
        out: &mut [u8],
        job: &Job,
    ) -> Result<usize, CodecError> {
        let rows = Rows {
            data: rows,
            stride: self.across.from as usize * self.pixel,
            columns: self.source.clone(),
        };
        self.feed_rows(rows, first, out, job)
    }

    /// [`feed`](Self::feed), with only the bytes of `source_columns`.
    pub(super) fn feed_segment(
        &mut self,
        rows: &[u8],
        first: usize,
        out: &mut [u8],
        job: &Job,
    ) -> Result<usize, CodecError> {
        let rows = Rows {
            data: rows,
            stride: self.source.len(),
            columns: 0..self.source.len(),
        };
        self.feed_rows(rows, first, out, job)
    }

    fn feed_rows(
        &mut self,
        rows: Rows<&[u8]>,
        first: usize,
        out: &mut [u8],
        job: &Job,
    ) -> Result<usize, CodecError> {
        let to_row = self.across.to as usize * self.pixel;
        let seen = self.source.len();
        let end = first + rows.data.len() / rows.stride.max(1);
        while !self.is_done() {
            let start = self.finished / COLUMNS * COLUMNS;
            let stop = (start + COLUMNS).min(self.down.to as usize);
            let ready = (self.finished..stop).take_while(|row| self.down.source(*row).1 <= end);
            let ready = self.finished + ready.count();
            if ready == self.finished {
                break;
            }
            if self.down.from != self.down.to
                && !self
                    .vertical
                    .as_ref()
                    .is_some_and(|kernel| kernel.has(start))
            {
                self.vertical = None;
                self.vertical = Some(LanczosKernel::new(self.down, start..stop, job)?);
            }
            if self.horizontal.is_none() {
                let left = self.columns.start * self.pixel;
                let out = Rows {
                    data: &mut out[self.finished * to_row..ready * to_row],
                    stride: to_row,
                    columns: left..self.columns.end * self.pixel,
                };
                self.scale_vertically(&rows, first, out);
            } else {
                let mut strip = std::mem::replace(&mut self.strip_buffer, Vec::new().into());
                let place = (self.finished - start) * seen..(ready - start) * seen;
                let part = Rows {
                    data: &mut strip[place],
                    stride: seen,
                    columns: 0..seen,
                };
                self.scale_vertically(&rows, first, part);
                if ready == stop {
                    let strip = &strip[..(stop - start) * seen];
                    self.scale_horizontally(strip, &mut out[start * to_row..stop * to_row]);
                }
                self.strip_buffer = strip;
            }
            self.finished = ready;
        }
        if self.is_done() {
            return Ok(self.down.from as usize);
        }
        Ok(self.down.source(self.finished).0)
    }

    /// Computes the next rows at the width of the source.
    fn scale_vertically(&self, rows: &Rows<&[u8]>, first: usize, out: Rows<&mut [u8]>) {
        let rows = rows.clone();
        match &self.vertical {
            Some(vertical) => {
                dispatch!(self.level, _ => vertical.apply(rows, first, self.finished, out));
            }
            None => {
                let lines =
                    rows.data[(self.finished - first) * rows.stride..].chunks_exact(rows.stride);
                for (line, out_line) in lines.zip(out.data.chunks_exact_mut(out.stride)) {
                    out_line[out.columns.clone()].copy_from_slice(&line[rows.columns.clone()]);
                }
            }
        }
    }

    /// Scales a strip horizontally, a span of columns at a time.
    fn scale_horizontally(&mut self, rows: &[u8], out: &mut [u8]) {
        let Some(horizontal) = &self.horizontal else {
            return;
        };
        let (pixel, seen) = (self.pixel, self.source.len());
        let to_row = self.across.to as usize * pixel;
        let [before, after] = &mut self.columns_buffers;
        let span = span(self.across);
        for left in self.columns.clone().step_by(span) {
            let count = span.min(self.columns.end - left);
            let (first, _) = self.across.source(left);
            let (_, end) = self.across.source(left + count - 1);
            let lanes = pixel * COLUMNS;
            let before = &mut before[..(end - first) * lanes];
            let after = &mut after[..count * lanes];
            let skipped = first * pixel - self.source.start;
            dispatch!(self.level, simd => {
                to_columns(simd, rows, seen, skipped, before);
                let columns = Rows { data: &*before, stride: lanes, columns: 0..lanes };
                let scaled = Rows { data: &mut *after, stride: lanes, columns: 0..lanes };
                horizontal.apply(columns, first, left, scaled);
                to_rows(simd, after, out, to_row, left * pixel);
            });
        }
    }
}

/// Target columns scaled horizontally at once.
fn span(across: Axis) -> usize {
    ((SPAN / across.ratio().ceil()) as usize).max(1)
}
