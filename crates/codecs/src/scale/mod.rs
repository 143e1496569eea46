//! Downscaling of 8-bit pixels, in strips that keep the memory small.
//!
//! This is a part of `majordomo-media` that is compiled by itself: the SIMD code
//! behind it is generic, takes long to compile and hardly ever changes.
//!
//! The filter is Lanczos with three lobes, widened to the scale: it looks at
//! every source pixel, so a picture that hides another one from coarse sampling
//! does not change its meaning on the way, and small text stays readable.

mod fallback;
mod kernel;
mod reducer;
mod transpose;

use fearless_simd::Level;

use fallback::GeneralScaler;

pub(crate) use reducer::Reducer;

/// How far the filter reaches, in target pixels.
const LOBES: f64 = 3.0;
/// Bytes that are worked on at once: few enough to keep the memory small.
const WINDOW: usize = 4 << 20;

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

impl Channels {
    /// Bytes of a pixel.
    fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Three => 3,
            Self::Four | Self::WithAlpha => 4,
        }
    }
}

/// PixelView in rows without gaps.
#[derive(Clone, Copy)]
pub struct PixelView<'a> {
    /// PixelView in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// What a pixel is.
    pub channels: Channels,
    /// All rows.
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

/// Why nothing was scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleError {
    /// `go_on` said no.
    Stopped,
    /// The data is shorter than its size says, there is no room of exactly the
    /// new size, or a side is zero.
    BadSize,
}

/// Scales pixels down.
///
/// One value scales many planes. `go_on` is asked before every strip.
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
    /// With these vector instructions, where the code is not somebody else's.
    pub fn with_level(level: Level) -> Self {
        Self {
            level,
            general: GeneralScaler::new(level),
        }
    }

    /// Fills `out` with the pixels in their new size.
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

/// So many bytes of a buffer that grows when it must.
fn resized(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    &mut buffer[..length]
}
