//! Downscaling of pictures, plane by plane. Knows no targets: `majordomo-media` decides the
//! size.

use crate::picture::{ChromaSize, Layout, Picture, pixel_count};
use crate::plane::{Chroma, Plane};
use crate::scale::{Channels, PixelView, Scaler};
use crate::simd_level::level;
use crate::{CodecError, Job};

/// Downscales a picture.
pub fn downscale(
    picture: &Picture,
    (width, height): (u32, u32),
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    let scaler = Scaler::with_level(level());
    let scale = |plane: Plane<'_>, channels, to, out: &mut [u8]| {
        let source = PixelView {
            width: plane.width,
            height: plane.height,
            channels,
            data: plane.data,
        };
        scaler.scale(source, to, out, job)
    };
    let mut layout = picture.layout;
    let mut data;
    if let Some([y, cb, cr]) = picture.planes() {
        let most = match chroma {
            Chroma::Half => (width.div_ceil(2), height.div_ceil(2)),
            Chroma::Full => (width, height),
        };
        let chroma = ChromaSize {
            width: cb.width.min(most.0),
            height: cb.height.min(most.1),
        };
        let colors = (chroma.width, chroma.height);
        let color = pixel_count(colors.0, colors.1);
        data = job.memory.zeroed(pixel_count(width, height) + 2 * color)?;
        let (luma, both) = data.split_at_mut(pixel_count(width, height));
        let (cb_out, cr_out) = both.split_at_mut(color);
        scale(y, Channels::One, (width, height), luma)?;
        scale(cb, Channels::One, colors, cb_out)?;
        scale(cr, Channels::One, colors, cr_out)?;
        layout = Layout::YCbCr(chroma);
    } else {
        let whole = Plane {
            width: picture.width,
            height: picture.height,
            data: &picture.data,
        };
        let channels = match layout {
            Layout::Gray | Layout::YCbCr(_) => Channels::One,
            Layout::Rgb => Channels::Three,
            Layout::Rgbx => Channels::Four,
            Layout::Rgba => Channels::WithAlpha,
        };
        data = job
            .memory
            .zeroed(pixel_count(width, height) * channels.bytes())?;
        scale(whole, channels, (width, height), &mut data)?;
    }
    Ok(Picture {
        width,
        height,
        layout,
        data,
    })
}
