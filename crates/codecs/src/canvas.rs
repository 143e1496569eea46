//! The canvas of an animation, larger than its first frame.

use crate::picture::{Layout, Picture, pixel_count};
use crate::{CodecError, Job};

/// Places the first frame of an animation on its transparent canvas. Pixels outside the canvas
/// are cut off.
pub(crate) fn place_on_canvas(
    frame: Picture,
    (x, y): (u32, u32),
    (width, height): (u32, u32),
    job: &Job,
) -> Result<Picture, CodecError> {
    if (frame.width, frame.height, x, y) == (width, height, 0, 0) {
        return Ok(frame);
    }
    let mut data = job.memory.zeroed(pixel_count(width, height) * 4)?;
    let mut rgb = job.memory.zeroed(frame.width as usize * 3)?;
    let rows = data.chunks_exact_mut(width as usize * 4).skip(y as usize);
    for (row, to) in (0..frame.height).zip(rows) {
        job.check()?;
        let to = to.as_chunks_mut::<4>().0.iter_mut().skip(x as usize);
        if frame.layout == Layout::Rgba {
            let start = row as usize * frame.width as usize;
            let from = &frame.data.as_chunks::<4>().0[start..start + frame.width as usize];
            for (to, from) in to.zip(from) {
                *to = *from;
            }
        } else {
            frame.rgb_row(row, &mut rgb);
            for (to, &[r, g, b]) in to.zip(rgb.as_chunks::<3>().0) {
                *to = [r, g, b, 255];
            }
        }
    }
    Ok(Picture {
        width,
        height,
        layout: Layout::Rgba,
        data,
    })
}
