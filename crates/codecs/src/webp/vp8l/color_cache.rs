//! The cache of recent colours (section 3.5.3).

use super::Pixel;

const MAX_BITS: u32 = 11;

pub(super) struct ColorCache {
    bits: u32,
    colors: [Pixel; 1 << MAX_BITS],
}

impl ColorCache {
    /// `None` for a size that is not allowed.
    pub(super) fn new(bits: u32) -> Option<Box<Self>> {
        (1..=MAX_BITS).contains(&bits).then(|| {
            Box::new(Self {
                bits,
                colors: [[0; 4]; 1 << MAX_BITS],
            })
        })
    }

    pub(super) fn size(&self) -> usize {
        1 << self.bits
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, pixel: Pixel) {
        let [r, g, b, a] = pixel;
        let argb = u32::from_be_bytes([a, r, g, b]);
        let hash = argb.wrapping_mul(0x1E35_A7BD) >> (32 - self.bits);
        self.colors[hash as usize & ((1 << MAX_BITS) - 1)] = pixel;
    }

    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> Pixel {
        self.colors[index & ((1 << MAX_BITS) - 1)]
    }
}
