//! A row of 4:2:0 MCUs: 16 rows of luma and 8 of chroma, padded to whole MCUs.

use crate::memory::Buffer;
use crate::picture::{Layout, Picture};
use crate::plane::Plane;
use crate::{CodecError, Job};

/// Luma rows of a row of MCUs.
pub(crate) const ROWS: usize = 16;

/// The planes of one row of MCUs.
pub(crate) struct McuRows {
    width: usize,
    height: usize,
    /// Bytes per luma row; chroma rows have half as many.
    pub(crate) stride: usize,
    pub(crate) luma: Buffer,
    pub(crate) cb: Buffer,
    pub(crate) cr: Buffer,
    /// Two deinterleaved rows of the picture.
    channels: [Buffer; 6],
}

impl McuRows {
    pub(crate) fn new(width: u32, height: u32, job: &Job) -> Result<Self, CodecError> {
        let (width, height) = (width as usize, height as usize);
        let stride = width.next_multiple_of(16);
        let zeroed = |length| job.memory.zeroed(length);
        let row = || zeroed(stride);
        Ok(Self {
            width,
            height,
            stride,
            luma: zeroed(stride * ROWS)?,
            cb: zeroed(stride / 2 * ROWS / 2)?,
            cr: zeroed(stride / 2 * ROWS / 2)?,
            channels: [row()?, row()?, row()?, row()?, row()?, row()?],
        })
    }

    /// Loads the rows from `top` on; below the picture, its last row is repeated.
    #[inline(always)]
    pub(crate) fn fill(&mut self, picture: &Picture, top: usize) {
        match picture.layout {
            Layout::Gray => self.fill_luma(&picture.data, top),
            Layout::Rgb => self.fill_interleaved::<3, false>(&picture.data, top),
            Layout::Rgbx => self.fill_interleaved::<4, false>(&picture.data, top),
            Layout::Rgba => self.fill_interleaved::<4, true>(&picture.data, top),
            Layout::YCbCr(_) => {
                if let Some([y, cb, cr]) = picture.planes() {
                    self.fill_luma(y.data, top);
                    fill_chroma(&mut self.cb, self.stride / 2, &y, &cb, top);
                    fill_chroma(&mut self.cr, self.stride / 2, &y, &cr, top);
                }
            }
        }
    }

    /// The 16 rows from `top` on of a plane or of interleaved pixels.
    fn rows<'a>(
        &self,
        data: &'a [u8],
        pixel: usize,
        top: usize,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let length = self.width * pixel;
        let last = self.height - 1;
        (top..top + ROWS).map(move |row| &data[row.min(last) * length..][..length])
    }

    #[inline(always)]
    fn fill_luma(&mut self, data: &[u8], top: usize) {
        let rows = self.rows(data, 1, top);
        for (out, row) in self.luma.chunks_exact_mut(self.stride).zip(rows) {
            out[..row.len()].copy_from_slice(row);
            replicate_edge(out, row.len());
        }
    }

    #[inline(always)]
    fn fill_interleaved<const N: usize, const ALPHA: bool>(&mut self, data: &[u8], top: usize) {
        let (width, stride) = (self.width, self.stride);
        let mut rows = self.rows(data, N, top);
        let mut luma = self.luma.chunks_exact_mut(stride);
        let mut cb = self.cb.chunks_exact_mut(stride / 2);
        let mut cr = self.cr.chunks_exact_mut(stride / 2);
        let [r0, g0, b0, r1, g1, b1] = &mut self.channels;
        while let (Some(cb), Some(cr)) = (cb.next(), cr.next()) {
            for [r, g, b] in [
                [&mut *r0, &mut *g0, &mut *b0],
                [&mut *r1, &mut *g1, &mut *b1],
            ] {
                if let (Some(row), Some(luma)) = (rows.next(), luma.next()) {
                    deinterleave::<N, ALPHA>(
                        row,
                        &mut r[..width],
                        &mut g[..width],
                        &mut b[..width],
                    );
                    for channel in [&mut *r, &mut *g, &mut *b] {
                        replicate_edge(channel, width);
                    }
                    rgb_to_luma(luma, r, g, b);
                }
            }
            rgb_to_chroma(cb, cr, [r0, g0, b0], [r1, g1, b1]);
        }
    }
}

/// Pads a row with its last pixel.
#[inline(always)]
fn replicate_edge(row: &mut [u8], width: usize) {
    let (pixels, rest) = row.split_at_mut(width);
    if let Some(last) = pixels.last() {
        rest.fill(*last);
    }
}

/// Splits interleaved pixels into channels; transparency is flattened onto white.
#[inline(always)]
fn deinterleave<const N: usize, const ALPHA: bool>(
    row: &[u8],
    r: &mut [u8],
    g: &mut [u8],
    b: &mut [u8],
) {
    let pixels = row.as_chunks::<N>().0;
    for (((pixel, r), g), b) in pixels.iter().zip(r).zip(g).zip(b) {
        let alpha = if ALPHA { pixel[N - 1] } else { 255 };
        let flat = |value: u8| match ALPHA {
            true => on_white(value, alpha),
            false => value,
        };
        (*r, *g, *b) = (flat(pixel[0]), flat(pixel[1]), flat(pixel[2]));
    }
}

#[inline(always)]
fn on_white(value: u8, alpha: u8) -> u8 {
    let mixed = u32::from(value) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
    ((mixed + 127) / 255) as u8
}

#[inline(always)]
fn rgb_to_luma(luma: &mut [u8], r: &[u8], g: &[u8], b: &[u8]) {
    for (((luma, r), g), b) in luma.iter_mut().zip(r).zip(g).zip(b) {
        let [r, g, b] = [*r, *g, *b].map(u32::from);
        *luma = ((19_595 * r + 38_470 * g + 7_471 * b + 32_768) >> 16) as u8;
    }
}

/// Converts and subsamples 2×2 pixels.
#[inline(always)]
fn rgb_to_chroma(cb: &mut [u8], cr: &mut [u8], above: [&[u8]; 3], below: [&[u8]; 3]) {
    let pairs = |channel: usize| {
        let (above, below) = (
            above[channel].as_chunks::<2>().0,
            below[channel].as_chunks().0,
        );
        let sums = above.iter().zip(below);
        sums.map(|(a, b): (&[u8; 2], &[u8; 2])| {
            i32::from(a[0]) + i32::from(a[1]) + i32::from(b[0]) + i32::from(b[1])
        })
    };
    let sums = pairs(0).zip(pairs(1)).zip(pairs(2));
    for ((cb, cr), ((r, g), b)) in cb.iter_mut().zip(cr).zip(sums) {
        // Sums of four pixels: divided by four, offset by 128, rounded.
        let middle = (128 << 18) + (1 << 17) - 1;
        *cb = ((32_768 * b - 11_059 * r - 21_709 * g + middle) >> 18) as u8;
        *cr = ((32_768 * r - 27_439 * g - 5_329 * b + middle) >> 18) as u8;
    }
}

/// Resamples a chroma plane of any size to half the size of luma.
#[inline(always)]
fn fill_chroma(out: &mut [u8], stride: usize, y: &Plane<'_>, chroma: &Plane<'_>, top: usize) {
    let half = (y.width.div_ceil(2), y.height.div_ceil(2));
    for (row, out) in out.chunks_exact_mut(stride).enumerate() {
        let first = ((top + row * 2) as u32).min(y.height - 1);
        let second = (first + 1).min(y.height - 1);
        if (chroma.width, chroma.height) == half {
            let width = half.0 as usize;
            out[..width].copy_from_slice(chroma.row(first / 2));
            replicate_edge(out, width);
            continue;
        }
        let (above, below) = (
            chroma.row_aligned_with(first, y),
            chroma.row_aligned_with(second, y),
        );
        let last = above.len() - 1;
        let beside = |x: usize| (x * above.len() / y.width as usize).min(last);
        for (x, out) in out.iter_mut().enumerate() {
            let (left, right) = (beside(x * 2), beside(x * 2 + 1));
            let sum = [above[left], above[right], below[left], below[right]];
            *out = ((sum.map(u32::from).iter().sum::<u32>() + 1) / 4) as u8;
        }
    }
}
