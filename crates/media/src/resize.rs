//! Downscaling open pictures, planes one by one.

use majordomo_scale::{Channels, Failure, Pixels, Scaler};

use crate::level::level;
use crate::picture::{Chroma, Layout, Picture, Plane, area};
use crate::{Problem, Stop};

/// Makes the picture smaller.
pub(crate) fn downscale(
    picture: &Picture,
    width: u32,
    height: u32,
    stop: &Stop,
) -> Result<Picture, Problem> {
    let mut scaler = Scaler::at(level());
    let mut scale = |plane: Plane<'_>, channels, to, out: &mut [u8]| {
        let source = Pixels {
            width: plane.width,
            height: plane.height,
            channels,
            data: plane.data,
        };
        scaler
            .scale(source, to, out, &|| !stop.is_stopped())
            .map_err(|failure| match failure {
                Failure::Stopped => Problem::Stopped,
                Failure::BadSize => Problem::DecoderFailed,
            })
    };
    let mut layout = picture.layout;
    let mut data;
    if let Some([y, cb, cr]) = picture.planes() {
        // Colour is never finer than half: what reads it halves it anyway.
        let chroma = Chroma {
            width: cb.width.min(width.div_ceil(2)),
            height: cb.height.min(height.div_ceil(2)),
        };
        let colors = (chroma.width, chroma.height);
        let color = area(colors.0, colors.1);
        data = vec![0; area(width, height) + 2 * color];
        let (luma, both) = data.split_at_mut(area(width, height));
        let (blue, red) = both.split_at_mut(color);
        scale(y, Channels::One, (width, height), luma)?;
        scale(cb, Channels::One, colors, blue)?;
        scale(cr, Channels::One, colors, red)?;
        layout = Layout::Planes(chroma);
    } else {
        let whole = Plane {
            width: picture.width,
            height: picture.height,
            data: &picture.data,
        };
        let channels = match layout {
            Layout::Gray | Layout::Planes(_) => Channels::One,
            Layout::Rgb => Channels::Three,
            Layout::Rgbx => Channels::Four,
            Layout::Rgba => Channels::WithAlpha,
        };
        data = vec![0; area(width, height) * layout.packed().unwrap_or(1)];
        scale(whole, channels, (width, height), &mut data)?;
    }
    Ok(Picture {
        width,
        height,
        layout,
        data,
    })
}
