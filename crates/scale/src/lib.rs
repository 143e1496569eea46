//! Downscaling of 8-bit pixels, in strips that keep the memory small.
//!
//! This is a part of `majordomo-media` that is compiled by itself: the SIMD code
//! behind it is generic, takes long to compile and hardly ever changes.
//!
//! The filter is Lanczos with three lobes, widened to the scale: it looks at
//! every source pixel, so a picture that hides another one from coarse sampling
//! does not change its meaning on the way, and small text stays readable.

use std::mem::take;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use fearless_simd::{Level, dispatch};

/// Source bytes that are worked on at once: few enough to keep the memory small,
/// and enough to make up for the weights that are computed anew for each strip.
const WINDOW: f64 = 4_194_304.0;
/// How far the filter reaches, in target pixels.
const LOBES: f64 = 3.0;

/// What the bytes of a pixel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// One byte.
    One,
    /// Three independent bytes.
    Three,
    /// Four independent bytes.
    Four,
    /// Three bytes that count as much as the fourth says.
    WithAlpha,
}

/// Pixels in rows without gaps.
#[derive(Clone, Copy)]
pub struct Pixels<'a> {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// What a pixel is.
    pub channels: Channels,
    /// All rows.
    pub data: &'a [u8],
}

impl Pixels<'_> {
    /// Bytes of one.
    fn pixel(&self) -> usize {
        match self.channels {
            Channels::One => 1,
            Channels::Three => 3,
            Channels::Four | Channels::WithAlpha => 4,
        }
    }

    fn row_bytes(&self) -> usize {
        self.width as usize * self.pixel()
    }

    fn bytes(&self) -> usize {
        self.row_bytes() * self.height as usize
    }

    /// The rows from which so many rows are made, and the number of the first:
    /// what is copied on the way is copied of these alone.
    fn window(self, from: f64, length: f64, reach: f64) -> (Self, u32) {
        let first = (from - reach).floor().max(0.0) as u32;
        let last = (from + length + reach).ceil() as u32;
        let last = last.min(self.height);
        let row = self.row_bytes();
        let window = Self {
            height: last - first,
            data: &self.data[first as usize * row..last as usize * row],
            ..self
        };
        (window, first)
    }
}

/// Why nothing was scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `go_on` said no.
    Stopped,
    /// The data is shorter than its size says, or a side is zero.
    BadSize,
}

/// Scales pixels down and appends them to a buffer.
///
/// One value scales many planes and keeps its working memory between them.
/// `go_on` is asked before every strip.
#[derive(Default)]
pub struct Scaler {
    resizer: Resizer,
    low: Vec<u8>,
    wide: Vec<u8>,
}

impl Scaler {
    /// Appends the pixels in their new size to `out`.
    pub fn scale(
        &mut self,
        source: Pixels<'_>,
        to: (u32, u32),
        out: &mut Vec<u8>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        if to.0 == 0 || to.1 == 0 || source.data.len() < source.bytes() {
            return Err(Failure::BadSize);
        }
        if (source.width, source.height) == to {
            out.extend_from_slice(&source.data[..source.bytes()]);
            return Ok(());
        }
        let step = f64::from(source.height) / f64::from(to.1);
        let strip_rows = match source.channels {
            // Two copies, but only of rows that are made lower already.
            Channels::Three => 2.0 * WINDOW / (f64::from(source.width) * 7.0),
            _ => WINDOW / (source.row_bytes() as f64 * step),
        };
        let strip_rows = strip_rows.clamp(16.0, 512.0) as u32;
        for top in (0..to.1).step_by(strip_rows as usize) {
            if !go_on() {
                return Err(Failure::Stopped);
            }
            let rows = strip_rows.min(to.1 - top);
            let from = f64::from(top) * step;
            let length = (f64::from(rows) * step).min(f64::from(source.height) - from);
            let (window, first) = source.window(from, length, step * LOBES + 1.0);
            let strip = Strip {
                from: from - f64::from(first),
                length,
                to: (to.0, rows),
            };
            let start = out.len();
            out.resize(start + to.0 as usize * rows as usize * source.pixel(), 0);
            let out = &mut out[start..];
            match source.channels {
                Channels::One => self.strip::<U8>(window, strip, out),
                Channels::Four | Channels::WithAlpha => self.strip::<U8x4>(window, strip, out),
                Channels::Three => self.strip_of_three(window, strip, out),
            }
            .ok_or(Failure::BadSize)?;
        }
        Ok(())
    }

    fn strip<P: PixelTrait>(
        &mut self,
        source: Pixels<'_>,
        strip: Strip,
        out: &mut [u8],
    ) -> Option<()> {
        let (width, rows) = strip.to;
        let image =
            TypedImageRef::<P>::from_buffer(source.width, source.height, source.data).ok()?;
        let mut target = TypedImage::<P>::from_buffer(width, rows, out).ok()?;
        // Rows outside the crop still weigh in, so strips join without a seam.
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
            .use_alpha(source.channels == Channels::WithAlpha)
            .crop(0.0, strip.from, f64::from(source.width), strip.length);
        self.resizer
            .resize_typed(&image, &mut target, &options)
            .ok()
    }

    /// Three channels are made lower as if they were one, which makes no
    /// difference to rows. Then they are scaled as four: one kind of pixel less
    /// to compile, and four are faster.
    fn strip_of_three(&mut self, source: Pixels<'_>, strip: Strip, out: &mut [u8]) -> Option<()> {
        let (width, rows) = strip.to;
        let pixels = |width: u32| width as usize * rows as usize;
        let (mut low, mut wide) = (take(&mut self.low), take(&mut self.wide));
        low.resize((pixels(source.width) * 3).max(pixels(width) * 4), 0);
        wide.resize(pixels(source.width) * 4, 0);

        let one = Pixels {
            width: source.width * 3,
            channels: Channels::One,
            ..source
        };
        let lower = Strip {
            to: (one.width, rows),
            ..strip
        };
        self.strip::<U8>(one, lower, &mut low[..pixels(one.width)])?;
        let level = Level::new();
        dispatch!(level, _ => widen(&mut wide, &low));

        let four = Pixels {
            height: rows,
            channels: Channels::Four,
            data: &wide,
            ..source
        };
        let narrower = Strip {
            from: 0.0,
            length: f64::from(rows),
            to: (width, rows),
        };
        self.strip::<U8x4>(four, narrower, &mut low[..pixels(width) * 4])?;
        dispatch!(level, _ => narrow(out, &low));
        (self.low, self.wide) = (low, wide);
        Some(())
    }
}

/// Three bytes of every pixel put where there is room for four.
#[inline(always)]
fn widen(to: &mut [u8], from: &[u8]) {
    for (to, from) in pairs::<4, 3>(to, from) {
        *to = [from[0], from[1], from[2], 255];
    }
}

/// The first three of four bytes.
#[inline(always)]
fn narrow(to: &mut [u8], from: &[u8]) {
    for (to, from) in pairs::<3, 4>(to, from) {
        *to = [from[0], from[1], from[2]];
    }
}

/// Pixels of two sizes beside each other.
#[inline(always)]
fn pairs<'a, const A: usize, const B: usize>(
    to: &'a mut [u8],
    from: &'a [u8],
) -> impl Iterator<Item = (&'a mut [u8; A], &'a [u8; B])> {
    to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0)
}

/// Some rows of the target, and what they are made of.
#[derive(Clone, Copy)]
struct Strip {
    from: f64,
    length: f64,
    to: (u32, u32),
}
