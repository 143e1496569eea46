//! Downscaling, in strips that keep the memory small.
//!
//! The filter looks at every source pixel, so a picture that hides another one
//! from coarse sampling does not change its meaning on the way.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use crate::picture::{Chroma, Layout, Picture, Plane, area};
use crate::{Problem, Stop};

/// Output rows that are made at once.
const STRIP: u32 = 64;

/// Makes the picture smaller; a size of its own leaves it as it is.
pub(crate) fn downscale(
    picture: &Picture,
    width: u32,
    height: u32,
    stop: &Stop,
) -> Result<Picture, Problem> {
    let mut resizer = Resizer::new();
    if let Some([y, cb, cr]) = picture.planes() {
        // Colour is never finer than half: what reads it halves it anyway.
        let chroma = Chroma {
            width: cb.width.min(width.div_ceil(2)),
            height: cb.height.min(height.div_ceil(2)),
        };
        let total = area(width, height) + 2 * area(chroma.width, chroma.height);
        let mut data = Vec::with_capacity(total);
        for (plane, to) in [
            (y, (width, height)),
            (cb, (chroma.width, chroma.height)),
            (cr, (chroma.width, chroma.height)),
        ] {
            scale(
                &mut resizer,
                plane,
                PixelType::U8,
                false,
                to,
                &mut data,
                stop,
            )?;
        }
        return Ok(Picture {
            width,
            height,
            layout: Layout::Planes(chroma),
            data,
        });
    }
    let pixel_type = match picture.layout {
        Layout::Gray | Layout::Planes(_) => PixelType::U8,
        Layout::Rgb => PixelType::U8x3,
        Layout::Rgbx | Layout::Rgba => PixelType::U8x4,
    };
    let source = Plane {
        width: picture.width,
        height: picture.height,
        data: &picture.data,
    };
    let mut data = Vec::with_capacity(area(width, height) * pixel_type.size());
    let alpha = picture.layout == Layout::Rgba;
    let to = (width, height);
    scale(&mut resizer, source, pixel_type, alpha, to, &mut data, stop)?;
    Ok(Picture {
        width,
        height,
        layout: picture.layout,
        data,
    })
}

/// Appends the scaled pixels of one plane (or of packed pixels) to `out`.
fn scale(
    resizer: &mut Resizer,
    source: Plane<'_>,
    pixel_type: PixelType,
    alpha: bool,
    (width, height): (u32, u32),
    out: &mut Vec<u8>,
    stop: &Stop,
) -> Result<(), Problem> {
    let impossible = |_| Problem::DecoderFailed;
    let image = ImageRef::new(source.width, source.height, source.data, pixel_type)
        .map_err(|_| Problem::DecoderFailed)?;
    if (source.width, source.height) == (width, height) {
        out.extend_from_slice(source.data);
        return Ok(());
    }
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
        .use_alpha(alpha);
    let scale = f64::from(source.height) / f64::from(height);
    let mut top = 0;
    while top < height {
        stop.check()?;
        let rows = STRIP.min(height - top);
        let start = out.len();
        out.resize(start + area(width, rows) * pixel_type.size(), 0);
        let mut strip = Image::from_slice_u8(width, rows, &mut out[start..], pixel_type)
            .map_err(|_| Problem::DecoderFailed)?;
        // Rows outside the crop still weigh in, so strips join without a seam.
        let from = f64::from(top) * scale;
        let length = (f64::from(rows) * scale).min(f64::from(source.height) - from);
        let crop = options.crop(0.0, from, f64::from(source.width), length);
        resizer
            .resize(&image, &mut strip, &crop)
            .map_err(impossible)?;
        top += rows;
    }
    Ok(())
}
