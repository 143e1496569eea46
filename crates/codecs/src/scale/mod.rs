//! Downscaling of 8-bit pixels, in strips that bound the memory.
//!
//! The filter is Lanczos-3, stretched by the ratio: every source pixel contributes, so an
//! image-scaling attack does not reveal a hidden picture, and small text stays readable.

mod fallback;
mod kernel;
mod reducer;
mod transpose;

use fearless_simd::Level;

use fallback::GeneralScaler;

pub(crate) use reducer::Reducer;

/// Lobes of the Lanczos kernel.
const LOBES: f64 = 3.0;
/// Bytes processed at once, which bounds the memory.
const WINDOW: usize = 4 << 20;

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
    fn bytes(self) -> usize {
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

/// Why pixels are not scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleError {
    /// `go_on` returned false.
    Stopped,
    /// The data is too short, the output does not have exactly the new size, or a side is
    /// zero.
    BadSize,
}

/// Scales pixels down.
///
/// One scaler serves many planes. `go_on` is called before every strip.
pub struct Scaler {
    level: Level,
    general: GeneralScaler,
}

impl Default for Scaler {
    fn default() -> Self {
        Self::with_level(Level::new())
    }
}

impl Scaler {
    /// Uses this SIMD level, except in `fast_image_resize`.
    pub fn with_level(level: Level) -> Self {
        Self {
            level,
            general: GeneralScaler::new(level),
        }
    }

    /// Fills `out` with the scaled pixels.
    pub fn scale(
        &mut self,
        source: PixelView<'_>,
        to: (u32, u32),
        out: &mut [u8],
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), ScaleError> {
        let length = to.0 as usize * to.1 as usize * source.channels.bytes();
        if length == 0 || out.len() != length || source.data.len() < source.bytes() {
            return Err(ScaleError::BadSize);
        }
        let from = (source.width, source.height);
        if from == to {
            out.copy_from_slice(&source.data[..source.bytes()]);
            return Ok(());
        }
        let Some(mut reducer) = Reducer::new(self.level, source.channels, from, to) else {
            return self.general.scale(source, to, out, go_on);
        };
        let (row, rows) = (source.row_bytes(), reducer.batch_rows());
        let mut first = 0;
        while !reducer.is_done() {
            if !go_on() {
                return Err(ScaleError::Stopped);
            }
            let end = (first + rows).min(source.height as usize);
            first = reducer.feed(&source.data[first * row..end * row], first, out);
        }
        Ok(())
    }
}

/// The first `length` bytes of a buffer, which grows as needed.
fn resized(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    &mut buffer[..length]
}
