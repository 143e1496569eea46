//! The canvas of an animation, larger than its first frame.

use crate::picture::{Layout, Picture, pixel_count};

/// Places the first frame of an animation on its transparent canvas.
pub(crate) fn place_on_canvas(
    frame: Picture,
    (x, y): (u32, u32),
    (width, height): (u32, u32),
) -> Picture {
    if (frame.width, frame.height) == (width, height) {
        return frame;
    }
    let frame = frame.to_interleaved();
    let pixel = frame.layout.bytes_per_pixel().unwrap_or(4);
    let mut data = vec![0; pixel_count(width, height) * 4];
    let rows = data.chunks_exact_mut(width as usize * 4).skip(y as usize);
    let source = frame.data.chunks_exact(frame.width as usize * pixel);
    for (row, source) in rows.zip(source) {
        let row = row[x as usize * 4..].as_chunks_mut::<4>().0;
        for (to, from) in row.iter_mut().zip(source.chunks_exact(pixel)) {
            *to = [
                from[0],
                from[1],
                from[2],
                from.get(3).copied().unwrap_or(255),
            ];
        }
    }
    Picture {
        width,
        height,
        layout: Layout::Rgba,
        data,
    }
}
