//! What is counted by labels, and gauges: atomics behind an append-only map.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;

/// Maximum number of label sets; further ones are counted under [`OTHER`]. Callers bound
/// client-chosen names first.
const MAX_LABEL_SETS: usize = 4_096;
/// Labels of the overflow count.
const OTHER: &str = "other=\"true\"";

/// One count per label set. Existing sets are found without a lock and without formatting
/// their labels; a new one copies the map, which happens a bounded number of times.
#[derive(Default)]
pub(crate) struct Counter {
    hasher: RandomState,
    cells: ArcSwap<Cells>,
    /// The sets that exceed the maximum.
    other: AtomicU64,
}

/// Cells by the hash of their values. Those of one hash are compared, so that a collision
/// costs time and never a count.
#[derive(Clone, Default)]
struct Cells {
    by_hash: BTreeMap<u64, Vec<Arc<Cell>>>,
    len: usize,
}

struct Cell {
    /// In Prometheus' text format.
    labels: String,
    values: Box<[Box<str>]>,
    count: AtomicU64,
}

impl Counter {
    /// Counts under these labels, whose names are the same in every call.
    pub(super) fn add(&self, labels: &[(&str, &str)], count: u64) {
        let values = labels.iter().map(|(_, value)| self.hasher.hash_one(value));
        let hash = values.fold(0_u64, |hash, value| hash.rotate_left(7) ^ value);
        if let Some(cell) = self.cells.load().find(hash, labels) {
            cell.count.fetch_add(count, Ordering::Relaxed);
            return;
        }
        self.cells.rcu(|known| {
            if known.len >= MAX_LABEL_SETS || known.find(hash, labels).is_some() {
                return Arc::clone(known);
            }
            let mut more = Cells::clone(known);
            more.insert(hash, labels);
            Arc::new(more)
        });
        let cells = self.cells.load();
        let cell = cells.find(hash, labels).map(|cell| &cell.count);
        cell.unwrap_or(&self.other)
            .fetch_add(count, Ordering::Relaxed);
    }

    /// Calls `show` with every label set and its count, sorted by labels.
    pub(super) fn each(&self, mut show: impl FnMut(&str, u64)) {
        let cells = self.cells.load();
        // Long values are cut, so different ones may have the same text.
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for cell in cells.by_hash.values().flatten() {
            *counts.entry(&cell.labels).or_default() += cell.count.load(Ordering::Relaxed);
        }
        let other = self.other.load(Ordering::Relaxed);
        if other > 0 {
            *counts.entry(OTHER).or_default() += other;
        }
        for (labels, count) in counts {
            show(labels, count);
        }
    }
}

impl Cells {
    fn find(&self, hash: u64, labels: &[(&str, &str)]) -> Option<&Cell> {
        let cells = self.by_hash.get(&hash)?.iter().map(|cell| &**cell);
        let values = labels.iter().map(|(_, value)| *value);
        cells
            .filter(|cell| cell.values.len() == labels.len())
            .find(|cell| cell.values.iter().map(|value| &**value).eq(values.clone()))
    }

    fn insert(&mut self, hash: u64, labels: &[(&str, &str)]) {
        let cell = Cell {
            labels: format_labels(labels),
            values: labels.iter().map(|(_, value)| (*value).into()).collect(),
            count: AtomicU64::new(0),
        };
        self.by_hash.entry(hash).or_default().push(Arc::new(cell));
        self.len += 1;
    }
}

/// Longest value of a label, in characters.
const MAX_VALUE: usize = 200;

/// Labels in Prometheus' text format, escaped.
pub(super) fn format_labels(labels: &[(&str, &str)]) -> String {
    let lengths = labels
        .iter()
        .map(|(name, value)| name.len() + value.len() + 4);
    let mut text = String::with_capacity(lengths.sum());
    for (n, (name, value)) in labels.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        push_value(&mut text, value);
        text.push('"');
    }
    text
}

fn push_value(text: &mut String, value: &str) {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if value.len() <= MAX_VALUE && value.bytes().all(plain) {
        return text.push_str(value);
    }
    for letter in value.chars().take(MAX_VALUE) {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            letter if letter.is_control() => text.push('?'),
            letter => text.push(letter),
        }
    }
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

    fn shown(counter: &Counter) -> Vec<(String, u64)> {
        let mut all = Vec::new();
        counter.each(|labels, count| all.push((labels.to_owned(), count)));
        all
    }

    #[test]
    fn label_sets_are_counted_apart_and_shown_in_order() {
        let counter = Counter::default();
        for (target, kind) in [("b", "x"), ("a", "x"), ("x", "b"), ("b", "x")] {
            counter.add(&[("target", target), ("kind", kind)], 2);
        }
        let expected = [
            ("target=\"a\",kind=\"x\"", 2),
            ("target=\"b\",kind=\"x\"", 4),
            ("target=\"x\",kind=\"b\"", 2),
        ];
        assert_eq!(
            shown(&counter),
            expected.map(|(text, count)| (text.into(), count))
        );
    }

    #[test]
    fn values_that_look_alike_once_cut_share_a_line() {
        let counter = Counter::default();
        for end in ["1", "2"] {
            counter.add(&[("target", &("a".repeat(MAX_VALUE) + end))], 1);
        }
        assert_eq!(shown(&counter).len(), 1);
        assert_eq!(shown(&counter)[0].1, 2);
    }

    #[test]
    fn sets_beyond_the_maximum_are_counted_together() {
        let counter = Counter::default();
        for n in 0..MAX_LABEL_SETS + 3 {
            counter.add(&[("target", &n.to_string())], 1);
        }
        counter.add(&[("target", "0")], 1);
        let shown = shown(&counter);
        assert_eq!(shown.len(), MAX_LABEL_SETS + 1);
        assert!(shown.contains(&(OTHER.to_owned(), 3)));
        assert!(shown.contains(&("target=\"0\"".to_owned(), 2)));
    }
}
