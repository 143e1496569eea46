//! Streaming reduction by moderate ratios.
//!
//! Rows are scaled vertically as they arrive. A strip of the result is transposed, scaled
//! in the same way, and transposed back, all while it is in the cache.

use fearless_simd::{Level, dispatch};

use super::kernel::LanczosKernel;
use super::transpose::{COLUMNS, to_columns, to_rows};
use super::{Channels, WINDOW, resized};

/// Source pixels of a strip scaled horizontally at once, without the reach of the filter.
const SPAN: u32 = 512;
/// Target rows per batch, if the source has rows for them.
const GROUP: u32 = 8;
/// The largest ratio in each dimension; larger ones go to the fallback, whose memory does
/// not grow with the ratio.
const MAX_RATIO: u32 = 64;

/// Scales rows down while they are decoded.
pub(crate) struct Reducer {
    level: Level,
    /// Bytes per pixel.
    pixel: usize,
    from: (u32, u32),
    to: (u32, u32),
    horizontal: Option<LanczosKernel>,
    vertical: Option<LanczosKernel>,
    /// Target rows scaled vertically.
    finished: usize,
    /// Vertically scaled rows of the current strip.
    strip_buffer: Vec<u8>,
    /// The transposed strip, before and after horizontal scaling.
    columns: [Vec<u8>; 2],
}

impl Reducer {
    /// `None` if the channels or the sizes are left to the fallback.
    pub(crate) fn new(
        level: Level,
        channels: Channels,
        from: (u32, u32),
        to: (u32, u32),
    ) -> Option<Self> {
        let is_moderate = |from: u32, to: u32| to > 0 && to <= from && from / MAX_RATIO <= to;
        // A strip of longer rows would take too much memory.
        let is_short = from.0 as usize * channels.bytes() <= WINDOW / COLUMNS;
        let is_simple = channels != Channels::WithAlpha && from != to && is_short;
        if !is_simple || !is_moderate(from.0, to.0) || !is_moderate(from.1, to.1) {
            return None;
        }
        let fewer = |from: u32, to: u32| (to < from).then(|| LanczosKernel::new(from, to));
        Some(Self {
            level,
            pixel: channels.bytes(),
            from,
            to,
            horizontal: fewer(from.0, to.0),
            vertical: fewer(from.1, to.1),
            finished: 0,
            strip_buffer: Vec::new(),
            columns: Default::default(),
        })
    }

    /// How many source rows to feed at a time: enough to finish at least one target row.
    pub(crate) fn batch_rows(&self) -> usize {
        let reach = self.vertical.as_ref().map_or(1, LanczosKernel::max_taps);
        reach + (GROUP * self.from.1.div_ceil(self.to.1)) as usize
    }

    /// Whether all target rows are finished.
    pub(crate) fn is_done(&self) -> bool {
        self.finished == self.to.1 as usize
    }

    /// Processes source rows, the first of which has number `first`; `out` is the whole
    /// target. Returns the first row that must be fed again, with all that follow.
    pub(crate) fn feed(&mut self, rows: &[u8], first: usize, out: &mut [u8]) -> usize {
        let (from_row, to_row) = (self.row_bytes(self.from), self.row_bytes(self.to));
        let end = first + rows.len() / from_row;
        while !self.is_done() {
            let start = self.finished / COLUMNS * COLUMNS;
            let stop = (start + COLUMNS).min(self.to.1 as usize);
            let ready = (self.finished..stop).take_while(|row| self.source_rows(*row).1 <= end);
            let ready = self.finished + ready.count();
            if ready == self.finished {
                break;
            }
            if self.horizontal.is_none() {
                self.scale_vertically(
                    rows,
                    first,
                    &mut out[self.finished * to_row..ready * to_row],
                );
            } else {
                let mut strip_buffer = std::mem::take(&mut self.strip_buffer);
                let strip = resized(&mut strip_buffer, (stop - start) * from_row);
                let place = (self.finished - start) * from_row..(ready - start) * from_row;
                self.scale_vertically(rows, first, &mut strip[place]);
                if ready == stop {
                    self.scale_horizontally(strip, &mut out[start * to_row..stop * to_row]);
                }
                self.strip_buffer = strip_buffer;
            }
            self.finished = ready;
        }
        if self.is_done() {
            return self.from.1 as usize;
        }
        self.source_rows(self.finished).0
    }

    fn row_bytes(&self, (width, _): (u32, u32)) -> usize {
        width as usize * self.pixel
    }

    /// The source rows of a target row: the first, and one past the last.
    fn source_rows(&self, row: usize) -> (usize, usize) {
        self.vertical.as_ref().map_or((row, row + 1), |kernel| {
            let (first, weights) = kernel.taps(row);
            (first, first + weights.len())
        })
    }

    /// Computes the next rows at the width of the source.
    fn scale_vertically(&self, rows: &[u8], first: usize, out: &mut [u8]) {
        let length = self.row_bytes(self.from);
        match &self.vertical {
            Some(vertical) => {
                dispatch!(self.level, _ => vertical.apply(rows, first, length, self.finished, out));
            }
            None => out.copy_from_slice(&rows[(self.finished - first) * length..][..out.len()]),
        }
    }

    /// Scales a strip horizontally, a span of columns at a time.
    fn scale_horizontally(&mut self, rows: &[u8], out: &mut [u8]) {
        let Some(horizontal) = &self.horizontal else {
            return;
        };
        let (from_row, to_row) = (self.row_bytes(self.from), self.row_bytes(self.to));
        let (pixel, width) = (self.pixel, self.to.0 as usize);
        let span = (SPAN / self.from.0.div_ceil(self.to.0)).max(1) as usize;
        let [before, after] = &mut self.columns;
        for left in (0..width).step_by(span) {
            let count = span.min(width - left);
            let (first, _) = horizontal.taps(left);
            let (last, weights) = horizontal.taps(left + count - 1);
            let end = last + weights.len();
            let before = resized(before, (end - first) * pixel * COLUMNS);
            let after = resized(after, count * pixel * COLUMNS);
            dispatch!(self.level, simd => {
                to_columns(simd, rows, from_row, first * pixel, before);
                horizontal.apply(before, first, pixel * COLUMNS, left, after);
                to_rows(simd, after, out, to_row, left * pixel);
            });
        }
    }
}
