//! What is counted by labels, and gauges: atomics behind an append-only map.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;

/// Maximum number of label sets; further ones are counted under [`OTHER`]. Callers bound
/// client-chosen names first.
const MAX_LABEL_SETS: usize = 4_096;
/// The label of the overflow.
const OTHER: (&str, &str) = ("other", "true");

/// Names and values, as a metric shows them.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// One count per label set.
pub(crate) type Counter = Labelled<AtomicU64>;

/// One `T` per label set. Existing sets are found without a lock and without formatting
/// their labels; a new one copies the map, which happens a bounded number of times.
#[derive(Default)]
pub(crate) struct Labelled<T> {
    hasher: RandomState,
    cells: ArcSwap<Cells<T>>,
    /// The sets that exceed the maximum.
    other: T,
}

/// Cells by the hash of their values. Those of one hash are compared, so that a collision
/// costs time and never a count.
struct Cells<T> {
    by_hash: BTreeMap<u64, Vec<Arc<Cell<T>>>>,
    len: usize,
}

struct Cell<T> {
    names: Box<[&'static str]>,
    values: Box<[Box<str>]>,
    content: T,
}

impl<T> Labelled<T> {
    /// Changes what is kept under these labels, whose names are the same in every call.
    pub(crate) fn change(
        &self,
        labels: &[(&'static str, &str)],
        new: impl Fn() -> T,
        change: impl FnOnce(&T),
    ) {
        let values = labels.iter().map(|(_, value)| self.hasher.hash_one(value));
        let hash = values.fold(0_u64, |hash, value| hash.rotate_left(7) ^ value);
        if let Some(cell) = self.cells.load().find(hash, labels) {
            return change(&cell.content);
        }
        self.cells.rcu(|known| {
            if known.len >= MAX_LABEL_SETS || known.find(hash, labels).is_some() {
                return Arc::clone(known);
            }
            let mut more = Cells::clone(known);
            more.insert(hash, labels, new());
            Arc::new(more)
        });
        let cells = self.cells.load();
        let cell = cells.find(hash, labels).map(|cell| &cell.content);
        change(cell.unwrap_or(&self.other));
    }

    /// Reads every label set, sorted by labels, and what exceeded the maximum unless that is
    /// `empty`. Long values are cut, so different sets may have the same labels: `add` joins
    /// them.
    pub(crate) fn read<R>(
        &self,
        read: impl Fn(&T) -> R,
        empty: impl Fn(&R) -> bool,
        add: impl Fn(&mut R, R),
    ) -> Vec<(Labels, R)> {
        let cells = self.cells.load();
        let mut all: BTreeMap<Labels, R> = BTreeMap::new();
        let known = cells.by_hash.values().flatten();
        let known = known.map(|cell| (cell.labels(), read(&cell.content)));
        let (name, value) = OTHER;
        let other = read(&self.other);
        let other = (!empty(&other)).then(|| (vec![(name, value.to_owned())], other));
        for (labels, value) in known.chain(other) {
            match all.get_mut(&labels) {
                Some(sum) => add(sum, value),
                None => drop(all.insert(labels, value)),
            }
        }
        all.into_iter().collect()
    }
}

impl Counter {
    /// Counts under these labels.
    pub(super) fn add(&self, labels: &[(&'static str, &str)], count: u64) {
        self.change(labels, AtomicU64::default, |cell| {
            cell.fetch_add(count, Ordering::Relaxed);
        });
    }

    /// Every label set and its count.
    pub(super) fn counts(&self) -> Vec<(Labels, u64)> {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        self.read(load, |count| *count == 0, |sum, more| *sum += more)
    }
}

impl<T> Cells<T> {
    fn find(&self, hash: u64, labels: &[(&str, &str)]) -> Option<&Cell<T>> {
        let cells = self.by_hash.get(&hash)?.iter().map(|cell| &**cell);
        let values = labels.iter().map(|(_, value)| *value);
        cells
            .filter(|cell| cell.values.len() == labels.len())
            .find(|cell| cell.values.iter().map(|value| &**value).eq(values.clone()))
    }

    fn insert(&mut self, hash: u64, labels: &[(&'static str, &str)], content: T) {
        let cell = Cell {
            names: labels.iter().map(|(name, _)| *name).collect(),
            values: labels.iter().map(|(_, value)| (*value).into()).collect(),
            content,
        };
        self.by_hash.entry(hash).or_default().push(Arc::new(cell));
        self.len += 1;
    }
}

// Not derived, which would ask it of `T` as well.
impl<T> Clone for Cells<T> {
    fn clone(&self) -> Self {
        Self {
            by_hash: self.by_hash.clone(),
            len: self.len,
        }
    }
}

impl<T> Default for Cells<T> {
    fn default() -> Self {
        Self {
            by_hash: BTreeMap::new(),
            len: 0,
        }
    }
}

impl<T> Cell<T> {
    fn labels(&self) -> Labels {
        let values = self.values.iter().map(|value| shown(value).into_owned());
        self.names.iter().copied().zip(values).collect()
    }
}

/// Longest value of a label, in characters.
const MAX_VALUE: usize = 200;

/// A value as metrics show it: cut, and without control characters but line breaks.
pub(super) fn shown(value: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte >= b' ' && byte != 0x7f && byte < 0x80;
    if value.len() <= MAX_VALUE && value.bytes().all(plain) {
        return Cow::Borrowed(value);
    }
    let letters = value.chars().take(MAX_VALUE);
    letters
        .map(|letter| match letter {
            '\n' => letter,
            letter if letter.is_control() => '?',
            letter => letter,
        })
        .collect()
}

/// A current value.
#[derive(Default)]
pub(crate) struct Gauge(AtomicI64);

impl Gauge {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_sets_are_counted_apart_and_shown_in_order() {
        let counter = Counter::default();
        for (target, kind) in [("b", "x"), ("a", "x"), ("x", "b"), ("b", "x")] {
            counter.add(&[("target", target), ("kind", kind)], 2);
        }
        let expected = [("a", "x", 2), ("b", "x", 4), ("x", "b", 2)];
        let expected = expected.map(|(target, kind, count)| {
            let labels = [("target", target), ("kind", kind)];
            let labels: Labels = labels.map(|(name, value)| (name, value.to_owned())).into();
            (labels, count)
        });
        assert_eq!(counter.counts(), expected);
    }

    #[test]
    fn values_that_look_alike_once_cut_share_a_line() {
        let counter = Counter::default();
        for end in ["1", "2"] {
            counter.add(&[("target", &("a".repeat(MAX_VALUE) + end))], 1);
        }
        assert_eq!(counter.counts().len(), 1);
        assert_eq!(counter.counts()[0].1, 2);
    }

    #[test]
    fn sets_beyond_the_maximum_are_counted_together() {
        let counter = Counter::default();
        for n in 0..MAX_LABEL_SETS + 3 {
            counter.add(&[("target", &n.to_string())], 1);
        }
        counter.add(&[("target", "0")], 1);
        let counts = counter.counts();
        assert_eq!(counts.len(), MAX_LABEL_SETS + 1);
        assert!(counts.contains(&(vec![("other", "true".to_owned())], 3)));
        assert!(counts.contains(&(vec![("target", "0".to_owned())], 2)));
    }
}
