//! Which of the edited values came from which of the original ones.

use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is the original one of this index, unchanged.
    Same(usize),
    /// It stands where the original one of this index stood.
    Changed(usize),
    /// Nothing stood there.
    New,
}

/// Finds the origin of each of `new` among `old`. Both ends are matched first,
/// since conversations are edited in the middle or at one end.
pub(crate) fn align<T: PartialEq + Hash>(old: &[T], new: &[T]) -> Vec<Origin> {
    let shorter = old.len().min(new.len());
    let head = (0..shorter).take_while(|i| old[*i] == new[*i]).count();
    let tail = (0..shorter - head)
        .take_while(|i| old[old.len() - 1 - i] == new[new.len() - 1 - i])
        .count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);

    let mut origins = Vec::with_capacity(new.len());
    origins.extend((0..head).map(Origin::Same));
    middle(old, new, head..old_end, head..new_end, &mut origins);
    origins.extend((old_end..old.len()).map(Origin::Same));
    origins
}

/// Equal values in their order; between them, as many changed ones as fit.
fn middle<T: PartialEq + Hash>(
    old: &[T],
    new: &[T],
    olds: Range<usize>,
    news: Range<usize>,
    origins: &mut Vec<Origin>,
) {
    let remaining = Remaining::new(old, olds.clone(), news.len());
    let mut old_at = olds.start;
    let mut gap = news.start;
    for at in news.clone() {
        if let Some(found) = remaining.find(old_at, &new[at]) {
            fill_gap(old_at..found, at - gap, origins);
            origins.push(Origin::Same(found));
            old_at = found + 1;
            gap = at + 1;
        }
    }
    fill_gap(old_at..olds.end, news.end - gap, origins);
}

/// Values pair up with what stood in their place only if the numbers agree.
fn fill_gap(olds: Range<usize>, count: usize, origins: &mut Vec<Origin>) {
    if olds.len() == count {
        origins.extend(olds.map(Origin::Changed));
    } else {
        origins.extend(std::iter::repeat_n(Origin::New, count));
    }
}

/// Up to so many comparisons are cheaper than hashing both sides.
const FEW_COMPARISONS: usize = 256;

/// The original values of a range, searched by hash where comparing each with
/// each would be quadratic.
struct Remaining<'o, T> {
    old: &'o [T],
    end: usize,
    by_hash: Option<ByHash>,
}

/// Hashes with their indexes, sorted; the keys of the hash are random, so that
/// no client can make values collide.
struct ByHash {
    state: RandomState,
    places: Vec<(u64, usize)>,
}

impl<'o, T: PartialEq + Hash> Remaining<'o, T> {
    /// For so many searches at most.
    fn new(old: &'o [T], range: Range<usize>, searches: usize) -> Self {
        let many = range.len().saturating_mul(searches) > FEW_COMPARISONS;
        let by_hash = many.then(|| {
            let state = RandomState::new();
            let place = |at: usize| (state.hash_one(&old[at]), at);
            let mut places: Vec<(u64, usize)> = range.clone().map(place).collect();
            places.sort_unstable();
            ByHash { state, places }
        });
        Self {
            old,
            end: range.end,
            by_hash,
        }
    }

    /// The first value at `from` or behind it that equals this one.
    fn find(&self, from: usize, value: &T) -> Option<usize> {
        let equal = |at: &usize| self.old[*at] == *value;
        let Some(ByHash { state, places }) = &self.by_hash else {
            return (from..self.end).find(equal);
        };
        let hash = state.hash_one(value);
        let first = places.partition_point(|place| *place < (hash, from));
        places[first..]
            .iter()
            .take_while(|(other, _)| *other == hash)
            .map(|(_, at)| *at)
            .find(equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: each value is searched among all that are left.
    fn plain(old: &[u8], new: &[u8], olds: Range<usize>, news: Range<usize>) -> Vec<Origin> {
        let mut origins = Vec::new();
        let (mut old_at, mut gap) = (olds.start, news.start);
        for at in news.clone() {
            if let Some(found) = (old_at..olds.end).find(|i| old[*i] == new[at]) {
                fill_gap(old_at..found, at - gap, &mut origins);
                origins.push(Origin::Same(found));
                (old_at, gap) = (found + 1, at + 1);
            }
        }
        fill_gap(old_at..olds.end, news.end - gap, &mut origins);
        origins
    }

    proptest! {
        #[test]
        fn long_lists_are_aligned_as_short_ones_are(
            old in prop::collection::vec(0..40_u8, 0..120),
            new in prop::collection::vec(0..40_u8, 0..120),
        ) {
            let mut found = Vec::new();
            middle(&old, &new, 0..old.len(), 0..new.len(), &mut found);
            prop_assert_eq!(found, plain(&old, &new, 0..old.len(), 0..new.len()));
        }
    }
}
