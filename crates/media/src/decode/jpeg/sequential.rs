//! One pass over the scan: codes to coefficients to pixels in planes.

use super::bits::Bits;
use super::inverse::{Scale, inverse};
use super::layout::{Channel, File};
use crate::picture::{Chroma, Layout, Picture};
use crate::zigzag::ZIGZAG;
use crate::{Format, Problem, Stop};

const DAMAGED: Problem = Problem::Damaged(Format::Jpeg);

/// A plane while it is filled: rows are as long as whole blocks make them.
struct Canvas {
    width: usize,
    height: usize,
    stride: usize,
    data: Vec<u8>,
    factors: [f32; 64],
    previous: i32,
}

/// Decodes the file at the smallest scale that has the wanted size.
pub(super) fn decode(file: &File<'_>, wanted: (u32, u32), stop: &Stop) -> Result<Picture, Problem> {
    let scale = Scale::for_size((file.width, file.height), wanted);
    let side = scale.side();
    let across_max = file.channels[0].across;
    let down_max = file.channels[0].down;
    let units_across = file.width.div_ceil(8 * across_max) as usize;
    let units_down = file.height.div_ceil(8 * down_max) as usize;
    let mut canvases: Vec<Canvas> = file
        .channels
        .iter()
        .map(|channel| {
            let stride = units_across * channel.across as usize * side;
            let rows = units_down * channel.down as usize * side;
            let width = (file.width * channel.across).div_ceil(across_max);
            let height = (file.height * channel.down).div_ceil(down_max);
            Canvas {
                width: scale.of(width) as usize,
                height: scale.of(height) as usize,
                stride,
                data: vec![0; stride * rows],
                factors: scale.factors(&channel.steps),
                previous: 0,
            }
        })
        .collect();

    let mut bits = Bits::new(file.scan);
    let mut until_restart = file.restart;
    let mut block = [0.0; 64];
    for unit_row in 0..units_down {
        stop.check()?;
        for unit in 0..units_across {
            if file.restart > 0 {
                if until_restart == 0 {
                    if !bits.restart() {
                        return Err(DAMAGED);
                    }
                    canvases.iter_mut().for_each(|canvas| canvas.previous = 0);
                    until_restart = file.restart;
                }
                until_restart -= 1;
            }
            for (channel, canvas) in file.channels.iter().zip(&mut canvases) {
                let (across, down) = (channel.across as usize, channel.down as usize);
                for y in 0..down {
                    for x in 0..across {
                        let last = read_block(&mut bits, channel, canvas, scale, &mut block)?;
                        let row = (unit_row * down + y) * side;
                        let start = row * canvas.stride + (unit * across + x) * side;
                        let out = &mut canvas.data[start..];
                        inverse(scale, &mut block, last, out, canvas.stride);
                        if last > 0 {
                            block = [0.0; 64];
                        }
                    }
                }
            }
        }
        if bits.is_exhausted() {
            return Err(DAMAGED);
        }
    }
    // Programs do leave bytes between the last code and the end mark.
    if !bits.rest().windows(2).any(|mark| mark == [0xFF, 0xD9]) {
        return Err(DAMAGED);
    }
    Ok(assemble(canvases))
}

/// Reads one block; tells the place of its last coefficient.
#[inline(always)]
fn read_block(
    bits: &mut Bits<'_>,
    channel: &Channel,
    canvas: &mut Canvas,
    scale: Scale,
    block: &mut [f32; 64],
) -> Result<usize, Problem> {
    bits.refill();
    let size = channel.dc.symbol(bits).ok_or(DAMAGED)?;
    if size > 15 {
        return Err(DAMAGED);
    }
    canvas.previous = canvas.previous.wrapping_add(bits.signed(u32::from(size)));
    block[0] = canvas.previous as f32 * canvas.factors[0];
    let mut at = 1;
    let mut last = 0;
    while at < 64 {
        bits.refill();
        let whole = channel.ac.whole(bits);
        let value = if whole.bits > 0 {
            at += usize::from(whole.zeros);
            bits.skip(u32::from(whole.bits));
            i32::from(whole.value)
        } else {
            let symbol = channel.ac.symbol(bits).ok_or(DAMAGED)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 {
                if zeros < 15 {
                    break;
                }
                at += 16;
                continue;
            }
            at += zeros;
            bits.signed(size)
        };
        if at > 63 {
            return Err(DAMAGED);
        }
        let place = usize::from(ZIGZAG[at]);
        block[place & 63] = value as f32 * canvas.factors[at];
        last = at;
        at += 1;
    }
    // Without fine detail there is nothing to be done for an eighth.
    Ok(if scale == Scale::Eighth {
        last.min(1)
    } else {
        last
    })
}

/// The planes without what the last blocks had too much.
fn assemble(mut canvases: Vec<Canvas>) -> Picture {
    let size = |canvas: &Canvas| (canvas.width as u32, canvas.height as u32);
    let (width, height) = size(&canvases[0]);
    let layout = match canvases.get(1) {
        Some(color) => Layout::Planes(Chroma {
            width: color.width as u32,
            height: color.height as u32,
        }),
        None => Layout::Gray,
    };
    let (first, colors) = canvases.split_at_mut(1);
    crop(&mut first[0]);
    let mut data = std::mem::take(&mut first[0].data);
    for canvas in colors {
        crop(canvas);
        data.append(&mut canvas.data);
    }
    Picture {
        width,
        height,
        layout,
        data,
    }
}

/// Moves the rows together, in place.
fn crop(canvas: &mut Canvas) {
    for row in 0..canvas.height {
        let from = row * canvas.stride;
        canvas
            .data
            .copy_within(from..from + canvas.width, row * canvas.width);
    }
    canvas.data.truncate(canvas.width * canvas.height);
}
