//! Filtering of one edge (RFC 6386, sections 15.2 and 15.3). Pixels are named as there: P3
//! to P0 before the edge, Q0 to Q3 after it.

use fearless_simd::{
    Bytes, Select, Simd, SimdBase, SimdInt, SimdIntWiden, SimdNarrow, i8x16, u8x16,
};

use super::{EdgeLines, LoopFilterParams};

/// Which filter is applied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FilterKind {
    /// Normal filter between macroblocks.
    MacroblockEdge,
    /// Normal filter between subblocks.
    SubblockEdge,
    /// Simple filter.
    Simple,
}

/// Filter limits (section 15.4), one lane per pixel along the edge.
pub(super) struct EdgeLimits<S: Simd> {
    /// Edge limit between macroblocks.
    macroblock_edge: u8x16<S>,
    /// Edge limit between subblocks.
    subblock_edge: u8x16<S>,
    /// Interior limit.
    interior: u8x16<S>,
    /// High edge variance threshold.
    hev_threshold: u8x16<S>,
}

impl<S: Simd> EdgeLimits<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, params: LoopFilterParams) -> Self {
        Self {
            macroblock_edge: u8x16::splat(simd, (params.level + 2) * 2 + params.interior_limit),
            subblock_edge: u8x16::splat(simd, params.level * 2 + params.interior_limit),
            interior: u8x16::splat(simd, params.interior_limit),
            hev_threshold: u8x16::splat(simd, params.hev_threshold),
        }
    }

    /// Filters an edge between macroblocks.
    #[inline(always)]
    pub(super) fn filter_macroblock_edge(
        &self,
        simd: S,
        p: &mut EdgeLines<S>,
        q: &mut EdgeLines<S>,
        simple: bool,
    ) {
        match simple {
            true => self.filter(simd, p, q, FilterKind::Simple, self.macroblock_edge),
            false => self.filter(simd, p, q, FilterKind::MacroblockEdge, self.macroblock_edge),
        }
    }

    /// Filters an edge between subblocks.
    #[inline(always)]
    pub(super) fn filter_subblock_edge(
        &self,
        simd: S,
        p: &mut EdgeLines<S>,
        q: &mut EdgeLines<S>,
        simple: bool,
    ) {
        match simple {
            true => self.filter(simd, p, q, FilterKind::Simple, self.subblock_edge),
            false => self.filter(simd, p, q, FilterKind::SubblockEdge, self.subblock_edge),
        }
    }

    /// Filters the pixels whose differences are within the limits.
    #[inline(always)]
    fn filter(
        &self,
        simd: S,
        p: &mut EdgeLines<S>,
        q: &mut EdgeLines<S>,
        kind: FilterKind,
        limit: u8x16<S>,
    ) {
        let [p3, p2, p1, p0] = *p;
        let [q0, q1, q2, q3] = *q;
        let step = difference(p0, q0);
        let step = step.saturating_add(step);
        let step = step.saturating_add(difference(p1, q1) >> 1);
        let mut excess = step.saturating_sub(limit);
        let edge_variance = difference(p1, p0).max(difference(q1, q0));
        if kind != FilterKind::Simple {
            let p_step = difference(p3, p2).max(difference(p2, p1));
            let q_step = difference(q3, q2).max(difference(q2, q1));
            let most = p_step.max(q_step).max(edge_variance);
            excess |= most.saturating_sub(self.interior);
        }
        let within_limits = excess.simd_eq(0);
        let low_variance = edge_variance.simd_le(self.hev_threshold);

        let none = i8x16::splat(simd, 0);
        let (p2, p1, p0) = (signed(p2), signed(p1), signed(p0));
        let (q0, q1, q2) = (signed(q0), signed(q1), signed(q2));
        let outer = p1.saturating_sub(q1);
        // The outer taps count for high edge variance and between macroblocks.
        let counted = match kind {
            FilterKind::SubblockEdge => low_variance.select(none, outer),
            _ => outer,
        };
        let step = q0.saturating_sub(p0);
        let twice = counted.saturating_add(step).saturating_add(step);
        let whole = within_limits.select(twice.saturating_add(step), none);
        // Adjusts P0 and Q0 (`common_adjust`).
        let few = match kind {
            FilterKind::MacroblockEdge => low_variance.select(none, whole),
            _ => whole,
        };
        let mut up = few.saturating_add(3) >> 3;
        let mut down = few.saturating_add(4) >> 3;
        match kind {
            FilterKind::Simple => {}
            FilterKind::SubblockEdge => {
                let less = low_variance.select((down + 1) >> 1, none);
                p[2] = unsigned(p1.saturating_add(less));
                q[1] = unsigned(q1.saturating_sub(less));
            }
            FilterKind::MacroblockEdge => {
                // Adjusts three pixels on each side, the nearest most.
                let [most, more, less] = seventh_taps(simd, low_variance.select(whole, none));
                (up, down) = (up + most, down + most);
                p[2] = unsigned(p1.saturating_add(more));
                q[1] = unsigned(q1.saturating_sub(more));
                p[1] = unsigned(p2.saturating_add(less));
                q[2] = unsigned(q2.saturating_sub(less));
            }
        }
        p[3] = unsigned(p0.saturating_add(up));
        q[0] = unsigned(q0.saturating_sub(down));
    }
}

/// `(27w + 63) >> 7`, `(18w + 63) >> 7` and `(9w + 63) >> 7`: about 3/7, 2/7 and 1/7.
#[inline(always)]
fn seventh_taps<S: Simd>(simd: S, whole: i8x16<S>) -> [i8x16<S>; 3] {
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

/// The absolute difference.
#[inline(always)]
fn difference<S: Simd>(a: u8x16<S>, b: u8x16<S>) -> u8x16<S> {
    a.max(b) - a.min(b)
}

/// Pixels as signed values around zero (`u2s`).
#[inline(always)]
fn signed<S: Simd>(line: u8x16<S>) -> i8x16<S> {
    (line ^ 128).bitcast()
}

/// Pixels as stored (`s2u`).
#[inline(always)]
fn unsigned<S: Simd>(line: i8x16<S>) -> u8x16<S> {
    line.bitcast::<u8x16<S>>() ^ 128
}
