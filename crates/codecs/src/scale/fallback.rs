//! Any ratio and any pixels, by `fast_image_resize`.

use std::mem::take;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use fearless_simd::{Level, dispatch};

use super::{Channels, LOBES, PixelView, ScaleError, WINDOW, resized};

pub(crate) struct GeneralScaler {
    level: Level,
    resizer: Resizer,
    shortened: Vec<u8>,
    wide: Vec<u8>,
}

impl GeneralScaler {
    pub(crate) fn new(level: Level) -> Self {
        Self {
            level,
            resizer: Resizer::new(),
            shortened: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// Fills `out` strip by strip.
    pub(crate) fn scale(
        &mut self,
        source: PixelView<'_>,
        to: (u32, u32),
        out: &mut [u8],
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), ScaleError> {
        let step = f64::from(source.height) / f64::from(to.1);
        let bytes = match source.channels {
            // Two copies, but only of rows that are already vertically scaled.
            Channels::Three => f64::from(source.width) * 3.5,
            _ => source.row_bytes() as f64 * step,
        };
        // Enough rows to amortize the weights, which are computed for each strip.
        let strip_rows = (WINDOW as f64 / bytes).clamp(16.0, 512.0) as u32;
        let row = to.0 as usize * source.channels.bytes();
        let tops = (0..to.1).step_by(strip_rows as usize);
        for (top, out) in tops.zip(out.chunks_mut(strip_rows as usize * row)) {
            if !go_on() {
                return Err(ScaleError::Stopped);
            }
            let rows = strip_rows.min(to.1 - top);
            let from = f64::from(top) * step;
            let length = (f64::from(rows) * step).min(f64::from(source.height) - from);
            let (window, first) = window(source, from, length, step * LOBES + 1.0);
            let strip = StripRows {
                from: from - f64::from(first),
                length,
                to: (to.0, rows),
            };
            match source.channels {
                Channels::One => self.strip::<U8>(window, strip, out),
                Channels::Four | Channels::WithAlpha => self.strip::<U8x4>(window, strip, out),
                Channels::Three => self.strip_of_three(window, strip, out),
            }
            .ok_or(ScaleError::BadSize)?;
        }
        Ok(())
    }

    fn strip<P: PixelTrait>(
        &mut self,
        source: PixelView<'_>,
        strip: StripRows,
        out: &mut [u8],
    ) -> Option<()> {
        let (width, rows) = strip.to;
        let image =
            TypedImageRef::<P>::from_buffer(source.width, source.height, source.data).ok()?;
        let mut target = TypedImage::<P>::from_buffer(width, rows, out).ok()?;
        // Rows outside the crop contribute, so strips join without a seam.
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
            .use_alpha(source.channels == Channels::WithAlpha)
            .crop(0.0, strip.from, f64::from(source.width), strip.length);
        self.resizer
            .resize_typed(&image, &mut target, &options)
            .ok()
    }

    /// Scales three channels vertically as one, which is equivalent, then horizontally as
    /// four: one pixel type fewer to compile, and four are faster.
    fn strip_of_three(
        &mut self,
        source: PixelView<'_>,
        strip: StripRows,
        out: &mut [u8],
    ) -> Option<()> {
        let (width, rows) = strip.to;
        let pixels = |width: u32| width as usize * rows as usize;
        let (mut shortened, mut wide) = (take(&mut self.shortened), take(&mut self.wide));
        resized(
            &mut shortened,
            (pixels(source.width) * 3).max(pixels(width) * 4),
        );
        resized(&mut wide, pixels(source.width) * 4);

        let one = PixelView {
            width: source.width * 3,
            channels: Channels::One,
            ..source
        };
        let lower = StripRows {
            to: (one.width, rows),
            ..strip
        };
        self.strip::<U8>(one, lower, &mut shortened[..pixels(one.width)])?;
        let level = self.level;
        dispatch!(level, _ => widen(&mut wide, &shortened));

        let four = PixelView {
            height: rows,
            channels: Channels::Four,
            data: &wide[..pixels(source.width) * 4],
            ..source
        };
        let narrower = StripRows {
            from: 0.0,
            length: f64::from(rows),
            to: (width, rows),
        };
        self.strip::<U8x4>(four, narrower, &mut shortened[..pixels(width) * 4])?;
        dispatch!(level, _ => narrow(out, &shortened));
        (self.shortened, self.wide) = (shortened, wide);
        Some(())
    }
}

/// The source rows that contribute to a strip, and the number of the first.
fn window(source: PixelView<'_>, from: f64, length: f64, reach: f64) -> (PixelView<'_>, u32) {
    let first = (from - reach).floor().max(0.0) as u32;
    let last = (from + length + reach).ceil() as u32;
    let last = last.min(source.height);
    let row = source.row_bytes();
    let window = PixelView {
        height: last - first,
        data: &source.data[first as usize * row..last as usize * row],
        ..source
    };
    (window, first)
}

/// Expands three bytes per pixel to four.
#[inline(always)]
fn widen(to: &mut [u8], from: &[u8]) {
    for (to, from) in pairs::<4, 3>(to, from) {
        *to = [from[0], from[1], from[2], 255];
    }
}

/// Drops the fourth byte of each pixel.
#[inline(always)]
fn narrow(to: &mut [u8], from: &[u8]) {
    for (to, from) in pairs::<3, 4>(to, from) {
        *to = [from[0], from[1], from[2]];
    }
}

/// Pairs of pixels of two sizes.
#[inline(always)]
fn pairs<'a, const A: usize, const B: usize>(
    to: &'a mut [u8],
    from: &'a [u8],
) -> impl Iterator<Item = (&'a mut [u8; A], &'a [u8; B])> {
    to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0)
}

/// A strip of target rows, and the source rows it covers.
#[derive(Clone, Copy)]
struct StripRows {
    from: f64,
    length: f64,
    to: (u32, u32),
}
