//! Aligns the elements of an edited list with the original ones.

use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;

/// Where an element came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementOrigin {
    /// The original element at this index, unchanged.
    Same(usize),
    /// Replaces the original element at this index.
    Changed(usize),
    /// Has no original.
    New,
}

/// Finds the origin of each element of `new` in `old`. Matches both ends first,
/// since conversations are edited in the middle or at one end.
pub(crate) fn align<T: PartialEq + Hash>(old: &[T], new: &[T]) -> Vec<ElementOrigin> {
    let shorter = old.len().min(new.len());
    let head = (0..shorter).take_while(|i| old[*i] == new[*i]).count();
    let tail = (0..shorter - head)
        .take_while(|i| old[old.len() - 1 - i] == new[new.len() - 1 - i])
        .count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);

    let mut origins = Vec::with_capacity(new.len());
    origins.extend((0..head).map(ElementOrigin::Same));
    middle(old, new, head..old_end, head..new_end, &mut origins);
    origins.extend((old_end..old.len()).map(ElementOrigin::Same));
    origins
}

/// Matches equal elements in order, and fills the gaps between them.
fn middle<T: PartialEq + Hash>(
    old: &[T],
    new: &[T],
    olds: Range<usize>,
    news: Range<usize>,
    origins: &mut Vec<ElementOrigin>,
) {
    let remaining = OldElements::new(old, olds.clone(), news.len());
    let mut old_at = olds.start;
    let mut gap = news.start;
    for at in news.clone() {
        if let Some(found) = remaining.find(old_at, &new[at]) {
            fill_gap(old_at..found, at - gap, origins);
            origins.push(ElementOrigin::Same(found));
            old_at = found + 1;
            gap = at + 1;
        }
    }
    fill_gap(old_at..olds.end, news.end - gap, origins);
}

/// Elements of a gap count as changed only if both sides have equally many.
fn fill_gap(olds: Range<usize>, count: usize, origins: &mut Vec<ElementOrigin>) {
    if olds.len() == count {
        origins.extend(olds.map(ElementOrigin::Changed));
    } else {
        origins.extend(std::iter::repeat_n(ElementOrigin::New, count));
    }
}

/// Up to this many comparisons are cheaper than hashing both sides.
const FEW_COMPARISONS: usize = 256;

/// A range of original elements, searched by hash where pairwise comparison
/// would be quadratic.
struct OldElements<'o, T> {
    old: &'o [T],
    end: usize,
    by_hash: Option<ByHash>,
}

/// Sorted hashes with their indexes. The hash is randomly keyed, so that no
/// client can cause collisions.
struct ByHash {
    state: RandomState,
    places: Vec<(u64, usize)>,
}

impl<'o, T: PartialEq + Hash> OldElements<'o, T> {
    /// Prepares for at most `searches` searches.
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

    /// The first element at or after `from` that equals `value`.
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

    /// The specification: a linear search among all remaining elements.
    fn plain(old: &[u8], new: &[u8], olds: Range<usize>, news: Range<usize>) -> Vec<ElementOrigin> {
        let mut origins = Vec::new();
        let (mut old_at, mut gap) = (olds.start, news.start);
        for at in news.clone() {
            if let Some(found) = (old_at..olds.end).find(|i| old[*i] == new[at]) {
                fill_gap(old_at..found, at - gap, &mut origins);
                origins.push(ElementOrigin::Same(found));
                (old_at, gap) = (found + 1, at + 1);
            }
        }
        fill_gap(old_at..olds.end, news.end - gap, &mut origins);
        origins
    }

    proptest! {
        #[test]
        fn hashed_and_linear_search_align_equally(
            old in prop::collection::vec(0..40_u8, 0..120),
            new in prop::collection::vec(0..40_u8, 0..120),
        ) {
            let mut found = Vec::new();
            middle(&old, &new, 0..old.len(), 0..new.len(), &mut found);
            prop_assert_eq!(found, plain(&old, &new, 0..old.len(), 0..new.len()));
        }
    }
}
