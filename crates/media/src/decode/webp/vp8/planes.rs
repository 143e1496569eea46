//! The picture while it is put together: brightness and both colours, in whole
//! blocks and in one buffer, which is the picture's own in the end.

use crate::picture::{Chroma, Layout, Picture};

/// Pixels along the side of a block, in each plane.
const SIDES: [usize; 3] = [16, 8, 8];
/// The last rows of a block are still looked at when those below are smoothed.
const LOOKED_AT: usize = 4;

pub(super) struct Planes {
    data: Vec<u8>,
    /// Blocks beside and below each other.
    across: usize,
    down: usize,
}

impl Planes {
    pub(super) fn new(across: usize, down: usize) -> Self {
        let pixels = SIDES.map(|side| across * down * side * side);
        Self {
            data: vec![0; pixels.iter().sum()],
            across,
            down,
        }
    }

    #[inline(always)]
    pub(super) fn each(&mut self) -> [&mut [u8]; 3] {
        let blocks = self.across * self.down;
        let (luma, colors) = self.data.split_at_mut(blocks * 256);
        let (blue, red) = colors.split_at_mut(blocks * 64);
        [luma, blue, red]
    }

    /// Brings what is finished with this row of blocks into the full range that
    /// JPEG has: a video's black is 16, its white is 235.
    #[inline(always)]
    pub(super) fn spread(&mut self, row: usize) {
        let (across, is_last) = (self.across, row + 1 == self.down);
        let [luma, blue, red] = self.each();
        let rows = |side: usize| {
            let from = (row * side).saturating_sub(LOOKED_AT);
            let to = (row + 1) * side - if is_last { 0 } else { LOOKED_AT };
            from * across * side..to * across * side
        };
        for value in &mut luma[rows(16)] {
            // 255 parts in 219.
            *value = moved(*value, 16, 76_309, 0);
        }
        for plane in [blue, red] {
            for value in &mut plane[rows(8)] {
                // 255 parts in 224, both ways from the middle.
                *value = moved(*value, 128, 74_606, 128);
            }
        }
    }

    /// The picture, without what its last blocks have too much.
    pub(super) fn finish(mut self, width: usize, height: usize) -> Picture {
        let half = (width.div_ceil(2), height.div_ceil(2));
        let (mut plane, mut end) = (0, 0);
        for (side, (width, height)) in SIDES.into_iter().zip([(width, height), half, half]) {
            let stride = self.across * side;
            for row in 0..height {
                let from = plane + row * stride;
                if from > end {
                    self.data.copy_within(from..from + width, end);
                }
                end += width;
            }
            plane += stride * self.down * side;
        }
        self.data.truncate(end);
        Picture {
            width: width as u32,
            height: height as u32,
            layout: Layout::Planes(Chroma {
                width: half.0 as u32,
                height: half.1 as u32,
            }),
            data: self.data,
        }
    }
}

/// A value so many 65536ths as far from another one.
#[inline(always)]
fn moved(value: u8, from: i32, factor: i32, to: i32) -> u8 {
    let value = (i32::from(value) - from) * factor + (to << 16) + (1 << 15);
    (value >> 16).clamp(0, 255) as u8
}
