//! One edge: what is on both sides of it is brought nearer to each other, where
//! the step is small enough to be an artefact.

use fearless_simd::{
    Bytes, Select, Simd, SimdBase, SimdInt, SimdIntWiden, SimdNarrow, i8x16, u8x16,
};

use super::{Side, Smoothing};

/// How an edge is smoothed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Between blocks.
    Outer,
    /// Between the small blocks inside.
    Inner,
    /// Either, in the simpler way.
    Simple,
}

/// How large differences may be, for all pixels of a line.
pub(super) struct Limits<S: Simd> {
    /// Across an edge between blocks.
    outer: u8x16<S>,
    /// Across an edge inside.
    inner: u8x16<S>,
    /// Between neighbours on one side.
    interior: u8x16<S>,
    /// Between the first two on one side; what is more is sharp.
    sharp: u8x16<S>,
}

impl<S: Simd> Limits<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, how: Smoothing) -> Self {
        Self {
            outer: u8x16::splat(simd, (how.level + 2) * 2 + how.interior),
            inner: u8x16::splat(simd, how.level * 2 + how.interior),
            interior: u8x16::splat(simd, how.interior),
            sharp: u8x16::splat(simd, how.sharp),
        }
    }

    /// Smooths an edge between blocks.
    #[inline(always)]
    pub(super) fn smooth_outer(&self, simd: S, a: &mut Side<S>, b: &mut Side<S>, simple: bool) {
        match simple {
            true => self.smooth(simd, a, b, Kind::Simple, self.outer),
            false => self.smooth(simd, a, b, Kind::Outer, self.outer),
        }
    }

    /// Smooths an edge between the small blocks inside.
    #[inline(always)]
    pub(super) fn smooth_inner(&self, simd: S, a: &mut Side<S>, b: &mut Side<S>, simple: bool) {
        match simple {
            true => self.smooth(simd, a, b, Kind::Simple, self.inner),
            false => self.smooth(simd, a, b, Kind::Inner, self.inner),
        }
    }

    /// Changes the pixels where all differences are within the limits.
    #[inline(always)]
    fn smooth(&self, simd: S, a: &mut Side<S>, b: &mut Side<S>, kind: Kind, limit: u8x16<S>) {
        let [a3, a2, a1, a0] = *a;
        let [b0, b1, b2, b3] = *b;
        let step = difference(a0, b0);
        let step = step.saturating_add(step);
        let step = step.saturating_add(difference(a1, b1) >> 1);
        let mut excess = step.saturating_sub(limit);
        let uneven = difference(a1, a0).max(difference(b1, b0));
        if kind != Kind::Simple {
            let farther_a = difference(a3, a2).max(difference(a2, a1));
            let farther_b = difference(b3, b2).max(difference(b2, b1));
            let most = farther_a.max(farther_b).max(uneven);
            excess |= most.saturating_sub(self.interior);
        }
        let fits = excess.simd_eq(0);
        let calm = uneven.simd_le(self.sharp);

        let none = i8x16::splat(simd, 0);
        let (a2, a1, a0) = (signed(a2), signed(a1), signed(a0));
        let (b0, b1, b2) = (signed(b0), signed(b1), signed(b2));
        let outer = a1.saturating_sub(b1);
        // Where the step is sharp, or between blocks, the next pixels count too.
        let counted = match kind {
            Kind::Inner => calm.select(none, outer),
            _ => outer,
        };
        let step = b0.saturating_sub(a0);
        let twice = counted.saturating_add(step).saturating_add(step);
        let whole = fits.select(twice.saturating_add(step), none);
        // Two pixels change, by about three eighths of the step.
        let few = match kind {
            Kind::Outer => calm.select(none, whole),
            _ => whole,
        };
        let mut up = few.saturating_add(3) >> 3;
        let mut down = few.saturating_add(4) >> 3;
        match kind {
            Kind::Simple => {}
            Kind::Inner => {
                let less = calm.select((down + 1) >> 1, none);
                a[2] = unsigned(a1.saturating_add(less));
                b[1] = unsigned(b1.saturating_sub(less));
            }
            Kind::Outer => {
                // Six pixels change, the nearest most.
                let [most, more, less] = parts(simd, calm.select(whole, none));
                (up, down) = (up + most, down + most);
                a[2] = unsigned(a1.saturating_add(more));
                b[1] = unsigned(b1.saturating_sub(more));
                a[1] = unsigned(a2.saturating_add(less));
                b[2] = unsigned(b2.saturating_sub(less));
            }
        }
        a[3] = unsigned(a0.saturating_add(up));
        b[0] = unsigned(b0.saturating_sub(down));
    }
}

/// 27, 18 and 9 128ths of each value, rounded: about three, two and one seventh
/// of the step.
#[inline(always)]
fn parts<S: Simd>(simd: S, whole: i8x16<S>) -> [i8x16<S>; 3] {
    let (first, second) = whole.widening_mul(i8x16::splat(simd, 9));
    let (mut first_sum, mut second_sum) = (first + 63, second + 63);
    let mut parts = [whole; 3];
    for part in parts.iter_mut().rev() {
        *part = (first_sum >> 7).saturating_narrow(second_sum >> 7);
        first_sum += first;
        second_sum += second;
    }
    parts
}

/// Without a sign.
#[inline(always)]
fn difference<S: Simd>(a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    a.max(b) - a.min(b)
}

/// Pixels as seen from the middle of their range.
#[inline(always)]
fn signed<S: Simd>(line: u8x16<S>) -> i8x16<S> {
    (line ^ 128).bitcast()
}

/// Pixels as they are stored.
#[inline(always)]
fn unsigned<S: Simd>(line: i8x16<S>) -> u8x16<S> {
    line.bitcast::<u8x16<S>>() ^ 128
}
