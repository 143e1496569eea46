//! Pixels as their neighbours suggest them.

use super::modes::{Mode, SmallMode};

/// Bytes from one row to the next where a block is put together.
pub(super) const STRIDE: usize = 32;
/// Where its first pixel is: below its neighbours above, and right of those on
/// the left.
pub(super) const START: usize = STRIDE + 8;

/// A block of up to sixteen by sixteen pixels and its neighbours: one row above,
/// which goes on by four pixels to the right, and one column on the left.
pub(super) type Canvas = [u8; STRIDE * 17];

/// Fills a block of so many pixels each way. At the upper and left edge of the
/// picture there are no real neighbours, which only the mean minds.
#[inline(always)]
pub(super) fn predict<const SIDE: usize>(
    canvas: &mut Canvas,
    mode: Mode,
    has_above: bool,
    has_left: bool,
) {
    let mut above = [0; SIDE];
    above.copy_from_slice(&canvas[START - STRIDE..][..SIDE]);
    let left: [u8; SIDE] = std::array::from_fn(|y| canvas[START + y * STRIDE - 1]);
    let corner = i32::from(canvas[START - STRIDE - 1]);
    let sum = |pixels: &[u8; SIDE]| pixels.iter().map(|pixel| u32::from(*pixel)).sum::<u32>();
    let side = SIDE as u32;
    let mean = match (has_above, has_left) {
        (true, true) => (sum(&above) + sum(&left) + side) / (side * 2),
        (true, false) => (sum(&above) + side / 2) / side,
        (false, true) => (sum(&left) + side / 2) / side,
        (false, false) => 128,
    } as u8;
    for (y, left) in left.into_iter().enumerate() {
        let row = &mut canvas[START + y * STRIDE..][..SIDE];
        match mode {
            Mode::Mean => row.fill(mean),
            Mode::Down => row.copy_from_slice(&above),
            Mode::Right => row.fill(left),
            Mode::Slope => {
                let rise = i32::from(left) - corner;
                for (pixel, above) in row.iter_mut().zip(above) {
                    *pixel = (i32::from(above) + rise).clamp(0, 255) as u8;
                }
            }
        }
    }
}

/// Fills the four by four pixels from `at` on.
#[inline(always)]
pub(super) fn predict_small(canvas: &mut Canvas, at: usize, mode: SmallMode) {
    // The neighbours in one line, from below on the left over the corner to
    // above on the right.
    let mut e = [0; 13];
    for (y, edge) in e[..4].iter_mut().enumerate() {
        *edge = canvas[at + (3 - y) * STRIDE - 1];
    }
    e[4..].copy_from_slice(&canvas[at - STRIDE - 1..][..9]);
    let wide = e.map(u16::from);
    let two = |at: usize| ((wide[at] + wide[at + 1] + 1) >> 1) as u8;
    // The mean around a place, where the middle counts twice.
    let mean3 = |a: u16, b: u16, c: u16| ((a + 2 * b + c + 2) >> 2) as u8;
    let three = |at: usize| mean3(wide[at - 1], wide[at], wide[at + 1]);
    let rows: [[u8; 4]; 4] = match mode {
        SmallMode::Mean => {
            let sum = wide[..4].iter().chain(&wide[5..9]).sum::<u16>();
            [[((sum + 4) >> 3) as u8; 4]; 4]
        }
        SmallMode::Slope => [3, 2, 1, 0].map(|y| {
            let rise = i32::from(e[y]) - i32::from(e[4]);
            [5, 6, 7, 8].map(|x| (i32::from(e[x]) + rise).clamp(0, 255) as u8)
        }),
        SmallMode::Down => [[5, 6, 7, 8].map(three); 4],
        SmallMode::Right => [
            [three(3); 4],
            [three(2); 4],
            [three(1); 4],
            [mean3(wide[1], wide[0], wide[0]); 4],
        ],
        SmallMode::DownLeft => {
            let last = mean3(wide[11], wide[12], wide[12]);
            [
                [three(6), three(7), three(8), three(9)],
                [three(7), three(8), three(9), three(10)],
                [three(8), three(9), three(10), three(11)],
                [three(9), three(10), three(11), last],
            ]
        }
        SmallMode::DownRight => [4, 3, 2, 1].map(|at| [at, at + 1, at + 2, at + 3].map(three)),
        SmallMode::SteepRight => [
            [two(4), two(5), two(6), two(7)],
            [three(4), three(5), three(6), three(7)],
            [three(3), two(4), two(5), two(6)],
            [three(2), three(4), three(5), three(6)],
        ],
        SmallMode::SteepLeft => [
            [two(5), two(6), two(7), two(8)],
            [three(6), three(7), three(8), three(9)],
            [two(6), two(7), two(8), three(10)],
            [three(7), three(8), three(9), three(11)],
        ],
        SmallMode::FlatDown => [
            [two(3), three(4), three(5), three(6)],
            [two(2), three(3), two(3), three(4)],
            [two(1), three(2), two(2), three(3)],
            [two(0), three(1), two(1), three(2)],
        ],
        SmallMode::FlatUp => {
            let (low, last) = (mean3(wide[1], wide[0], wide[0]), e[0]);
            [
                [two(2), three(2), two(1), three(1)],
                [two(1), three(1), two(0), low],
                [two(0), low, last, last],
                [last; 4],
            ]
        }
    };
    for (y, row) in rows.iter().enumerate() {
        canvas[at + y * STRIDE..][..4].copy_from_slice(row);
    }
}
