//! The predictor transform (section 4.1).

use super::Pixel;
use super::transform::{BlockData, add};
use crate::{CodecError, Job};

const BLACK: Pixel = [0, 0, 0, 255];

/// Adds to each pixel its prediction from those before it.
pub(super) fn reverse_prediction(
    pixels: &mut [Pixel],
    width: usize,
    modes: &BlockData,
    job: &Job,
) -> Result<(), CodecError> {
    let Some(first) = pixels.first_mut() else {
        return Ok(());
    };
    *first = add(*first, BLACK);
    for at in 1..width {
        pixels[at] = add(pixels[at], pixels[at - 1]);
    }
    for y in 1..pixels.len() / width {
        job.check()?;
        let start = y * width;
        pixels[start] = add(pixels[start], pixels[start - width]);
        let mut x = 1;
        while x < width {
            let block = (y >> modes.bits) * modes.across + (x >> modes.bits);
            let end = (((x >> modes.bits) + 1) << modes.bits).min(width);
            let mode = modes.data[block][1] & 15;
            predict_run(pixels, start + x..start + end, width, mode);
            x = end;
        }
    }
    Ok(())
}

fn predict_run(pixels: &mut [Pixel], run: std::ops::Range<usize>, width: usize, mode: u8) {
    match mode {
        1 => each(pixels, run, width, |l, _, _, _| l),
        2 => each(pixels, run, width, |_, t, _, _| t),
        3 => each(pixels, run, width, |_, _, tr, _| tr),
        4 => each(pixels, run, width, |_, _, _, tl| tl),
        5 => each(pixels, run, width, |l, t, tr, _| mean(mean(l, tr), t)),
        6 => each(pixels, run, width, |l, _, _, tl| mean(l, tl)),
        7 => each(pixels, run, width, |l, t, _, _| mean(l, t)),
        8 => each(pixels, run, width, |_, t, _, tl| mean(tl, t)),
        9 => each(pixels, run, width, |_, t, tr, _| mean(t, tr)),
        10 => each(pixels, run, width, |l, t, tr, tl| {
            mean(mean(l, tl), mean(t, tr))
        }),
        11 => each(pixels, run, width, |l, t, _, tl| select(l, t, tl)),
        12 => each(pixels, run, width, |l, t, _, tl| {
            map3(l, t, tl, |l, t, tl| l + t - tl)
        }),
        13 => each(pixels, run, width, |l, t, _, tl| {
            let average = mean(l, t);
            map3(average, average, tl, |a, _, tl| a + (a - tl) / 2)
        }),
        _ => each(pixels, run, width, |_, _, _, _| BLACK),
    }
}

/// Adds the prediction from left, top, top right and top left. To the right of the last
/// column of the row above lies the first pixel of this row.
#[inline(always)]
fn each(
    pixels: &mut [Pixel],
    run: std::ops::Range<usize>,
    width: usize,
    predict: impl Fn(Pixel, Pixel, Pixel, Pixel) -> Pixel,
) {
    let (above, row) = pixels.split_at_mut(run.start - 1);
    // The last pixel of the row above may be followed by the first of this row.
    let after = above.get(run.end - width).copied().unwrap_or(row[0]);
    let mut left = row[0];
    let mut above = above[run.start - width - 1..].iter().copied();
    let mut top_left = above.next().unwrap_or_default();
    let mut top = above.next().unwrap_or(after);
    let count = run.len();
    for (at, pixel) in row[1..=count].iter_mut().enumerate() {
        let top_right = match at + 1 == count {
            true => after,
            false => above.next().unwrap_or(after),
        };
        left = add(*pixel, predict(left, top, top_right, top_left));
        *pixel = left;
        (top_left, top) = (top, top_right);
    }
}

#[inline(always)]
fn mean(a: Pixel, b: Pixel) -> Pixel {
    std::array::from_fn(|channel| ((u16::from(a[channel]) + u16::from(b[channel])) / 2) as u8)
}

#[inline(always)]
fn map3(a: Pixel, b: Pixel, c: Pixel, value: impl Fn(i16, i16, i16) -> i16) -> Pixel {
    std::array::from_fn(|channel| {
        let value = value(a[channel].into(), b[channel].into(), c[channel].into());
        value.clamp(0, 255) as u8
    })
}

/// The one of left and top that is closer to `left + top - top_left`.
#[inline(always)]
fn select(left: Pixel, top: Pixel, top_left: Pixel) -> Pixel {
    let far = |a: Pixel| -> u16 {
        let pairs = a.iter().zip(top_left);
        pairs.map(|(a, b)| u16::from(a.abs_diff(b))).sum()
    };
    // |p - left| is |top - top_left|.
    if far(top) < far(left) { left } else { top }
}
