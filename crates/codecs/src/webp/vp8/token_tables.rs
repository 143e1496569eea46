//! Where the outcomes of several decisions begin.
//!
//! The probs of coefficients hold for the whole frame. So it is reckoned
//! beforehand, for every range, from which value on each outcome begins: in
//! 256ths of the eight bits of a range, which nearly always is exact.

/// Where outcomes begin for one range: in words like the one that they are
/// compared with, since that takes the fewest instructions.
pub(super) struct SmallTokenThresholds {
    /// Where one begins, and so zero ends.
    pub(super) one: u64,
    /// How many values are zero.
    pub(super) zeros: u64,
    /// How many are minus one; none where nothing but the end is known.
    pub(super) minuses: u64,
    /// Where minus one begins, and so one ends.
    pub(super) minus: u64,
}

/// A limit in one word, since the next token waits for it.
#[derive(Clone, Copy)]
struct PackedThresholds(u64);

impl PackedThresholds {
    /// Zero, one, minus one and larger begin here.
    fn new([zero, one, minus, larger]: [u32; 4]) -> Self {
        let parts = [minus, larger - minus, one - zero, one];
        let join = |packed, part| packed << 16 | u64::from(part);
        Self(parts.into_iter().fold(0, join))
    }
}

/// The outcomes of the first decisions about a coefficient, by range.
pub(super) struct SmallTokenTable([PackedThresholds; 128]);

impl SmallTokenTable {
    /// Knows nothing.
    pub(super) const EMPTY: Self = Self([PackedThresholds(0); 128]);

    /// By the probs of a place; behind a zero no block ends.
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
            // The first decision is always exact.
            let only_end = [end.end() >> 16; 4];
            PackedThresholds::new(in_256ths(thresholds).unwrap_or(only_end))
        }))
    }

    /// Those of a range, whose first bit is left out.
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

/// The outcomes of the decisions about two, three and four, by range: where each
/// begins, plus before minus, and where the last one ends.
pub(super) struct LargeTokenTable([[u16; 8]; 128]);

impl LargeTokenTable {
    /// Knows nothing.
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

    /// Those of a range, whose first bit is left out.
    #[inline(always)]
    pub(super) fn at_range(&self, range: u32) -> &[u16; 8] {
        &self.0[range as usize & 127]
    }
}

/// SmallTokenTable in 256ths, if that is exact.
fn in_256ths<const N: usize>(thresholds: [u32; N]) -> Option<[u32; N]> {
    let is_whole = thresholds.iter().all(|limit| limit % (1 << 16) == 0);
    is_whole.then(|| thresholds.map(|limit| limit >> 16))
}

/// The values of an outcome, in 2²⁴ths of the eight bits of a range.
#[derive(Clone, Copy)]
struct Interval {
    from: u32,
    width: u32,
}

impl Interval {
    const OUTSIDE: Self = Self { from: 0, width: 0 };

    /// All values of a range, whose first bit is left out.
    fn whole(range: usize) -> Self {
        Self {
            from: 0,
            width: (range as u32 | 128) << 24,
        }
    }

    /// Those of no, which has this prob, and those of yes.
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
