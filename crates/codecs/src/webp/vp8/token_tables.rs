//! Lookup tables that decode several booleans of a token at once.
//!
//! Token probabilities are constant within a frame. So for each of the 128 normalized
//! ranges, the intervals of all outcomes are computed in advance, in 256ths of the range.
//! Where that is inexact, the table has no entry.

/// Interval boundaries for one range, in words as wide as the value they are compared with,
/// which takes the fewest instructions.
pub(super) struct SmallTokenThresholds {
    /// Start of 1, end of 0.
    pub(super) one: u64,
    /// Width of 0.
    pub(super) zeros: u64,
    /// Width of −1; zero if only the end of block is known.
    pub(super) minuses: u64,
    /// Start of −1, end of 1.
    pub(super) minus: u64,
}

/// Boundaries in one word: the next token depends on this load.
#[derive(Clone, Copy)]
struct PackedThresholds(u64);

impl PackedThresholds {
    /// From the starts of 0, 1, −1 and larger values.
    fn new([zero, one, minus, larger]: [u32; 4]) -> Self {
        let parts = [minus, larger - minus, one - zero, one];
        let join = |packed, part| packed << 16 | u64::from(part);
        Self(parts.into_iter().fold(0, join))
    }
}

/// Intervals of end of block, 0, 1 and −1, by range.
pub(super) struct SmallTokenTable([PackedThresholds; 128]);

impl SmallTokenTable {
    /// No entries.
    pub(super) const EMPTY: Self = Self([PackedThresholds(0); 128]);

    /// Builds the table of one band and context; after a zero, a block cannot end.
    pub(super) fn new(probs: &[u8; 11], can_end: bool) -> Self {
        Self(std::array::from_fn(|range| {
            let whole = Interval::whole(range);
            let (end, rest) = match can_end {
                true => whole.split(probs[0]),
                false => (Interval::OUTSIDE, whole),
            };
            let (zero, rest) = rest.split(probs[1]);
            let (one, _) = rest.split(probs[2]);
            let (plus, minus) = one.split(128);
            let thresholds = [zero.from, plus.from, minus.from, one.end()];
            // The first boolean is always exact.
            let only_end = [end.end() >> 16; 4];
            PackedThresholds::new(in_256ths(thresholds).unwrap_or(only_end))
        }))
    }

    /// The boundaries for a range without its leading one.
    #[inline(always)]
    pub(super) fn at_range(&self, range: u32) -> SmallTokenThresholds {
        let PackedThresholds(packed) = self.0[range as usize & 127];
        SmallTokenThresholds {
            one: packed & 0xFFFF,
            zeros: u64::from(packed as u32 >> 16),
            minuses: (packed >> 32) & 0xFFFF,
            minus: packed >> 48,
        }
    }
}

/// Intervals of ±2, ±3 and ±4, by range: the start of each, positive before negative, and
/// the end of the last.
pub(super) struct LargeTokenTable([[u16; 8]; 128]);

impl LargeTokenTable {
    /// No entries.
    pub(super) const EMPTY: Self = Self([[0; 8]; 128]);

    pub(super) fn new(probs: &[u8; 11]) -> Self {
        Self(std::array::from_fn(|range| {
            let (few, _) = Interval::whole(range).split(probs[3]);
            let (two, rest) = few.split(probs[4]);
            let (three, four) = rest.split(probs[5]);
            let minus = |size: Interval| size.split(128).1.from;
            let thresholds = [
                two.from,
                minus(two),
                three.from,
                minus(three),
                four.from,
                minus(four),
                four.end(),
                0,
            ];
            in_256ths(thresholds)
                .unwrap_or_default()
                .map(|limit| limit as u16)
        }))
    }

    /// The boundaries for a range without its leading one.
    #[inline(always)]
    pub(super) fn at_range(&self, range: u32) -> &[u16; 8] {
        &self.0[range as usize & 127]
    }
}

/// Boundaries in 256ths, if exact.
fn in_256ths<const N: usize>(thresholds: [u32; N]) -> Option<[u32; N]> {
    let is_whole = thresholds.iter().all(|limit| limit % (1 << 16) == 0);
    is_whole.then(|| thresholds.map(|limit| limit >> 16))
}

/// The interval of an outcome, in 2²⁴ths of a range of eight bits.
#[derive(Clone, Copy)]
struct Interval {
    from: u32,
    width: u32,
}

impl Interval {
    const OUTSIDE: Self = Self { from: 0, width: 0 };

    /// The whole range, given without its leading one.
    fn whole(range: usize) -> Self {
        Self {
            from: 0,
            width: (range as u32 | 128) << 24,
        }
    }

    /// Splits the interval into `false`, which has this probability, and `true`.
    fn split(self, prob: u8) -> (Self, Self) {
        let shift = self.width.leading_zeros();
        let range = self.width << shift >> 24;
        let split = 1 + (((range - 1) * u32::from(prob)) >> 8);
        let no = Self {
            from: self.from,
            width: split << 24 >> shift,
        };
        let yes = Self {
            from: no.end(),
            width: self.width - no.width,
        };
        (no, yes)
    }

    fn end(self) -> u32 {
        self.from + self.width
    }
}
