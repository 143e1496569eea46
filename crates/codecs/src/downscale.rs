//! Downscaling of pictures, plane by plane. Knows no targets: `majordomo-media` decides the
//! size.

use crate::picture::{ChromaSize, Layout, Picture, pixel_count};
use crate::plane::{Chroma, Plane, subsampling};
use crate::scale::{Channels, PixelView, Scaler};
use crate::simd_level::level;
use crate::{CodecError, Job};

/// Downscales a picture.
pub fn downscale(
    picture: &Picture,
    to: (u32, u32),
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    downscale_decoded(picture, (picture.width, picture.height), to, chroma, job)
}

/// Downscales a picture from a file of the size `stored`, which may have been decoded at a
/// fraction of it: at half the size, 97 columns are 48.5, decoded as 49. If the last column
/// counted as whole, the picture would shift by up to a pixel of the result.
pub fn downscale_decoded(
    picture: &Picture,
    stored: (u32, u32),
    (width, height): (u32, u32),
    chroma: Chroma,
    job: &Job,
) -> Result<Picture, CodecError> {
    let lengths = (
        decoded_length(stored.0, picture.width),
        decoded_length(stored.1, picture.height),
    );
    let scaler = Scaler::with_level(level());
    let scale = |plane: Plane<'_>, lengths, channels, to, out: &mut [u8]| {
        let source = PixelView {
            width: plane.width,
            height: plane.height,
            channels,
            data: plane.data,
        };
        scaler.scale_lengths(source, lengths, to, out, job)
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
        let across = (picture.width, cb.width, lengths.0);
        let down = (picture.height, cb.height, lengths.1);
        // A side that keeps its count keeps its partial sample.
        let kept = |from: u32, to: u32, length: f64| match from == to {
            true => length,
            false => f64::from(to),
        };
        let color_lengths = (
            chroma_length(
                across,
                (width, colors.0, kept(picture.width, width, lengths.0)),
            ),
            chroma_length(
                down,
                (height, colors.1, kept(picture.height, height, lengths.1)),
            ),
        );
        scale(y, lengths, Channels::One, (width, height), luma)?;
        scale(cb, color_lengths, Channels::One, colors, cb_out)?;
        scale(cr, color_lengths, Channels::One, colors, cr_out)?;
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
        scale(whole, lengths, channels, (width, height), &mut data)?;
    }
    Ok(Picture {
        width,
        height,
        layout,
        data,
    })
}

/// The length of a side in decoded samples, of which the last may be partial.
fn decoded_length(stored: u32, decoded: u32) -> f64 {
    // The scales of the JPEG decoder.
    [1, 2, 4, 8]
        .into_iter()
        .find(|scale| stored.div_ceil(*scale) == decoded)
        .map_or(f64::from(decoded), |scale| {
            f64::from(stored) / f64::from(scale)
        })
}

/// The length of a side of a chroma plane, such that its samples in the result are where those
/// of the source were: the last one may cover less on either side. Both sides are given by
/// their counts of luma and chroma samples, and the length of luma.
fn chroma_length(from: (u32, u32, f64), to: (u32, u32, f64)) -> f64 {
    let samples = |(luma, chroma, length): (u32, u32, f64)| {
        match (subsampling(luma, chroma), subsampling(chroma, luma)) {
            (Some(factor), _) => length / factor as f64,
            // Decoded at a larger scale than luma.
            (None, Some(factor)) => length * factor as f64,
            (None, None) => length * f64::from(chroma) / f64::from(luma),
        }
    };
    samples(from) * f64::from(to.1) / samples(to)
}
