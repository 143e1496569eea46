//! Which of the edited values came from which of the original ones.

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
pub(crate) fn align<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Origin> {
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
fn middle<T: PartialEq>(
    old: &[T],
    new: &[T],
    olds: std::ops::Range<usize>,
    news: std::ops::Range<usize>,
    origins: &mut Vec<Origin>,
) {
    let mut old_at = olds.start;
    let mut gap = news.start;
    for at in news.clone() {
        let same = (old_at..olds.end).find(|i| old[*i] == new[at]);
        if let Some(found) = same {
            fill_gap(old_at..found, at - gap, origins);
            origins.push(Origin::Same(found));
            old_at = found + 1;
            gap = at + 1;
        }
    }
    fill_gap(old_at..olds.end, news.end - gap, origins);
}

/// Values pair up with what stood in their place only if the numbers agree.
fn fill_gap(olds: std::ops::Range<usize>, count: usize, origins: &mut Vec<Origin>) {
    if olds.len() == count {
        origins.extend(olds.map(Origin::Changed));
    } else {
        origins.extend(std::iter::repeat_n(Origin::New, count));
    }
}
