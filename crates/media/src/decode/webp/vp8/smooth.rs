//! Edges between blocks made less visible.
//!
//! All pixels along an edge are worked on together: those nearest to it on both
//! sides, then the next, up to four.

use super::header::Smoothing;

/// Four pixels before the edge and four behind it, at `N` places along it.
type Edge<const N: usize> = [[u8; N]; 8];

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

/// A plane that is smoothed.
pub(super) struct Plane<'a> {
    pub(super) data: &'a mut [u8],
    pub(super) stride: usize,
}

impl Plane<'_> {
    /// Smooths the edges of the block of `N` by `N` pixels that begins at `at`,
    /// and those inside it where it has detail.
    #[inline(always)]
    pub(super) fn smooth<const N: usize>(
        &mut self,
        at: usize,
        how: Smoothing,
        simple: bool,
        has_detail: bool,
        (has_above, has_left): (bool, bool),
    ) {
        let (outer, inner) = match simple {
            true => (Kind::Simple, Kind::Simple),
            false => (Kind::Outer, Kind::Inner),
        };
        let limit = |extra: u8| u16::from(how.level + extra) * 2 + u16::from(how.interior);
        if has_left {
            self.upright::<N>(at, outer, limit(2), how);
        }
        if has_detail {
            for x in (4..N).step_by(4) {
                self.upright::<N>(at + x, inner, limit(0), how);
            }
        }
        if has_above {
            self.level::<N>(at, outer, limit(2), how);
        }
        if has_detail {
            for y in (4..N).step_by(4) {
                self.level::<N>(at + y * self.stride, inner, limit(0), how);
            }
        }
    }

    /// An edge from top to bottom, at the left of `at`.
    #[inline(always)]
    fn upright<const N: usize>(&mut self, at: usize, kind: Kind, limit: u16, how: Smoothing) {
        let mut edge = [[0; N]; 8];
        let rows = self.data[at - 4..].chunks(self.stride).take(N);
        for (y, row) in rows.enumerate() {
            for (line, value) in edge.iter_mut().zip(&row[..8]) {
                line[y] = *value;
            }
        }
        if !filter(&mut edge, kind, limit, how) {
            return;
        }
        let rows = self.data[at - 4..].chunks_mut(self.stride).take(N);
        for (y, row) in rows.enumerate() {
            for (line, value) in edge.iter().zip(&mut row[..8]) {
                *value = line[y];
            }
        }
    }

    /// An edge from left to right, above `at`.
    #[inline(always)]
    fn level<const N: usize>(&mut self, at: usize, kind: Kind, limit: u16, how: Smoothing) {
        let top = at - 4 * self.stride;
        let mut edge = [[0; N]; 8];
        for (y, row) in edge.iter_mut().enumerate() {
            row.copy_from_slice(&self.data[top + y * self.stride..][..N]);
        }
        if !filter(&mut edge, kind, limit, how) {
            return;
        }
        for (y, row) in edge.iter().enumerate().take(7).skip(1) {
            self.data[top + y * self.stride..][..N].copy_from_slice(row);
        }
    }
}

/// As eight bits with a sign hold it.
#[inline(always)]
fn clamp(value: i16) -> i16 {
    value.clamp(-128, 127)
}

/// Changes the pixels where the step is small enough to be an artefact; false if
/// it is so nowhere.
#[inline(always)]
fn filter<const N: usize>(edge: &mut Edge<N>, kind: Kind, limit: u16, how: Smoothing) -> bool {
    let [p3, p2, p1, p0, q0, q1, q2, q3] = *edge;
    let mut apply = [0_i16; N];
    let mut sharp = [0_i16; N];
    for i in 0..N {
        let step = u16::from(p0[i].abs_diff(q0[i])) * 2 + u16::from(p1[i].abs_diff(q1[i]) / 2);
        let mut fits = step <= limit;
        if kind != Kind::Simple {
            let interior = how.interior;
            fits &= p3[i].abs_diff(p2[i]) <= interior;
            fits &= p2[i].abs_diff(p1[i]) <= interior;
            fits &= p1[i].abs_diff(p0[i]) <= interior;
            fits &= q1[i].abs_diff(q0[i]) <= interior;
            fits &= q2[i].abs_diff(q1[i]) <= interior;
            fits &= q3[i].abs_diff(q2[i]) <= interior;
        }
        let uneven = p1[i].abs_diff(p0[i]).max(q1[i].abs_diff(q0[i])) > how.sharp;
        apply[i] = -i16::from(fits);
        sharp[i] = -i16::from(uneven || kind == Kind::Simple);
    }
    if apply.iter().all(|apply| *apply == 0) {
        return false;
    }
    for i in 0..N {
        let pixel = |value: u8| i16::from(value) - 128;
        let (a2, a1, a0) = (pixel(p2[i]), pixel(p1[i]), pixel(p0[i]));
        let (b0, b1, b2) = (pixel(q0[i]), pixel(q1[i]), pixel(q2[i]));
        let (apply, sharp) = (apply[i], sharp[i]);
        let outer = clamp(a1 - b1);
        let step = 3 * (b0 - a0);
        // Where the step is sharp, or between blocks, the next pixels count too.
        let counted = if kind == Kind::Inner {
            outer & sharp
        } else {
            outer
        };
        let whole = clamp(counted + step) & apply;
        // Two pixels change, by about three eighths of the step.
        let few = if kind == Kind::Outer {
            whole & sharp
        } else {
            whole
        };
        let (down, up) = (clamp(few + 4) >> 3, clamp(few + 3) >> 3);
        let (mut a0, mut b0) = (clamp(a0 + up), clamp(b0 - down));
        let (mut a1, mut b1, mut a2, mut b2) = (a1, b1, a2, b2);
        match kind {
            Kind::Simple => {}
            Kind::Inner => {
                let less = ((down + 1) >> 1) & !sharp & apply;
                (a1, b1) = (clamp(a1 + less), clamp(b1 - less));
            }
            Kind::Outer => {
                // Six pixels change, the nearest most.
                let many = whole & !sharp;
                let part = |weight: i16| clamp((weight * many + 63) >> 7);
                (a0, b0) = (clamp(a0 + part(27)), clamp(b0 - part(27)));
                (a1, b1) = (clamp(a1 + part(18)), clamp(b1 - part(18)));
                (a2, b2) = (clamp(a2 + part(9)), clamp(b2 - part(9)));
            }
        }
        let byte = |value: i16| (value + 128) as u8;
        edge[1][i] = byte(a2);
        edge[2][i] = byte(a1);
        edge[3][i] = byte(a0);
        edge[4][i] = byte(b0);
        edge[5][i] = byte(b1);
        edge[6][i] = byte(b2);
    }
    true
}
