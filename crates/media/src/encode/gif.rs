//! GIF: one frame with the 256 colours that suit it best.

use std::io::Write;

use gif::{Encoder, Frame};

use crate::picture::{Layout, Picture};

/// Of 1 (best) to 30 (fastest).
const SPEED: i32 = 10;

pub(super) fn encode(picture: &Picture, out: &mut impl Write) -> Option<()> {
    let width = u16::try_from(picture.width).ok()?;
    let height = u16::try_from(picture.height).ok()?;
    let packed = picture.packed();
    let mut rgba = match packed.layout {
        Layout::Rgba | Layout::Rgbx => packed.data.clone(),
        Layout::Gray => packed.data.iter().flat_map(|&v| [v, v, v, 255]).collect(),
        Layout::Rgb | Layout::Planes(_) => {
            let pixels = packed.data.as_chunks::<3>().0.iter();
            pixels.flat_map(|&[r, g, b]| [r, g, b, 255]).collect()
        }
    };
    let frame = Frame::from_rgba_speed(width, height, &mut rgba, SPEED);
    let mut encoder = Encoder::new(out, width, height, &[]).ok()?;
    encoder.write_frame(&frame).ok()?;
    encoder.into_inner().ok()?;
    Some(())
}
