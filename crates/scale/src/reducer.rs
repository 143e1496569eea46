//! Moderate scales of independent bytes, which nearly all pictures have.
//!
//! Rows are taken as they come. They become fewer at once; a strip of those is
//! turned, made narrower in the same way, and turned back. All of it happens
//! while the rows are in the cache.

use fearless_simd::{Level, dispatch};

use crate::means::Means;
use crate::turn::{COLUMNS, to_columns, to_rows};
use crate::{Channels, WINDOW, room};

/// Source pixels of a strip that are made narrower at once, beside those that
/// the filter reaches.
const SPAN: u32 = 512;
/// Target rows that are made together, if the source has rows for them.
const GROUP: u32 = 8;
/// The most source pixels to a target pixel, each way. More are left to the
/// general code, which needs no more memory the more there are.
const MOST: u32 = 64;

/// Scales pixels down while their rows are being read.
pub struct Reducer {
    level: Level,
    /// Bytes of a pixel.
    pixel: usize,
    from: (u32, u32),
    to: (u32, u32),
    across: Option<Means>,
    down: Option<Means>,
    /// Target rows that are there, if maybe still too wide.
    made: usize,
    /// Those that are.
    low: Vec<u8>,
    /// The same turned, before and after they are made narrower.
    turned: [Vec<u8>; 2],
}

impl Reducer {
    /// With these vector instructions; none if these pixels or sizes are not for
    /// this code.
    pub fn at(level: Level, channels: Channels, from: (u32, u32), to: (u32, u32)) -> Option<Self> {
        let is_moderate = |from: u32, to: u32| to > 0 && to <= from && from / MOST <= to;
        // A strip of longer rows would take too much memory.
        let is_short = from.0 as usize * channels.bytes() <= WINDOW / COLUMNS;
        let is_simple = channels != Channels::WithAlpha && from != to && is_short;
        if !is_simple || !is_moderate(from.0, to.0) || !is_moderate(from.1, to.1) {
            return None;
        }
        let fewer = |from: u32, to: u32| (to < from).then(|| Means::new(from, to));
        Some(Self {
            level,
            pixel: channels.bytes(),
            from,
            to,
            across: fewer(from.0, to.0),
            down: fewer(from.1, to.1),
            made: 0,
            low: Vec::new(),
            turned: Default::default(),
        })
    }

    /// How many rows of the source should be given at a time: there is always
    /// something to make of so many.
    pub fn rows_at_once(&self) -> usize {
        let reach = self.down.as_ref().map_or(1, Means::longest);
        reach + (GROUP * self.from.1.div_ceil(self.to.1)) as usize
    }

    /// Whether the whole target is there.
    pub fn is_done(&self) -> bool {
        self.made == self.to.1 as usize
    }

    /// Makes of some rows of the source what can be made of them. They are whole
    /// rows, of which the first is number `first`; `out` is the whole target.
    /// Tells the first row that must be given again, with all behind it.
    pub fn feed(&mut self, rows: &[u8], first: usize, out: &mut [u8]) -> usize {
        let (from_row, to_row) = (self.row_bytes(self.from), self.row_bytes(self.to));
        let end = first + rows.len() / from_row;
        while !self.is_done() {
            let start = self.made / COLUMNS * COLUMNS;
            let stop = (start + COLUMNS).min(self.to.1 as usize);
            let ready = (self.made..stop).take_while(|row| self.needs(*row).1 <= end);
            let ready = self.made + ready.count();
            if ready == self.made {
                break;
            }
            if self.across.is_none() {
                self.lower(rows, first, &mut out[self.made * to_row..ready * to_row]);
            } else {
                let mut low = std::mem::take(&mut self.low);
                let strip = room(&mut low, (stop - start) * from_row);
                let place = (self.made - start) * from_row..(ready - start) * from_row;
                self.lower(rows, first, &mut strip[place]);
                if ready == stop {
                    self.narrow(strip, &mut out[start * to_row..stop * to_row]);
                }
                self.low = low;
            }
            self.made = ready;
        }
        if self.is_done() {
            return self.from.1 as usize;
        }
        self.needs(self.made).0
    }

    fn row_bytes(&self, (width, _): (u32, u32)) -> usize {
        width as usize * self.pixel
    }

    /// The first row of the source that a row of the target is made of, and the
    /// one behind the last.
    fn needs(&self, row: usize) -> (usize, usize) {
        self.down.as_ref().map_or((row, row + 1), |means| {
            let (first, weights) = means.of(row);
            (first, first + weights.len())
        })
    }

    /// Makes the next rows, as wide as those of the source.
    fn lower(&self, rows: &[u8], first: usize, out: &mut [u8]) {
        let length = self.row_bytes(self.from);
        match &self.down {
            Some(down) => {
                dispatch!(self.level, _ => down.make(rows, first, length, self.made, out));
            }
            None => out.copy_from_slice(&rows[(self.made - first) * length..][..out.len()]),
        }
    }

    /// Makes rows narrower, some columns after the other.
    fn narrow(&mut self, rows: &[u8], out: &mut [u8]) {
        let Some(across) = &self.across else { return };
        let (from_row, to_row) = (self.row_bytes(self.from), self.row_bytes(self.to));
        let (pixel, width) = (self.pixel, self.to.0 as usize);
        let span = (SPAN / self.from.0.div_ceil(self.to.0)).max(1) as usize;
        let [before, after] = &mut self.turned;
        for left in (0..width).step_by(span) {
            let count = span.min(width - left);
            let (first, _) = across.of(left);
            let (last, weights) = across.of(left + count - 1);
            let end = last + weights.len();
            let before = room(before, (end - first) * pixel * COLUMNS);
            let after = room(after, count * pixel * COLUMNS);
            dispatch!(self.level, simd => {
                to_columns(simd, rows, from_row, first * pixel, before);
                across.make(before, first, pixel * COLUMNS, left, after);
                to_rows(simd, after, out, to_row, left * pixel);
            });
        }
    }
}
