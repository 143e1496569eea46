//! Labelled counters and gauges: atomics behind an append-only map.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;

/// Maximum number of label sets; further ones are counted under [`OTHER`]. Callers bound
/// client-chosen names first.
const MAX_LABEL_SETS: usize = 4_096;
/// Labels of the overflow counter.
const OTHER: &str = "other=\"true\"";

type Cells = BTreeMap<String, Arc<AtomicU64>>;

/// One count per label set. Existing sets are found without a lock; a new one copies
/// the map, which happens a bounded number of times.
#[derive(Default)]
pub(crate) struct Counter {
    cells: ArcSwap<Cells>,
}

impl Counter {
    pub(super) fn add(&self, labels: &[(&str, &str)], count: u64) {
        let name = format_labels(labels);
        if let Some(cell) = self.cells.load().get(&name) {
            cell.fetch_add(count, Ordering::Relaxed);
            return;
        }
        let cells = self.cells.rcu(|known| {
            let name = if known.len() < MAX_LABEL_SETS {
                &name
            } else {
                OTHER
            };
            if known.contains_key(name) {
                return Arc::clone(known);
            }
            let mut more = Cells::clone(known);
            more.insert(name.to_owned(), Arc::default());
            Arc::new(more)
        });
        // `rcu` returns the map before the change.
        drop(cells);
        let cells = self.cells.load();
        if let Some(cell) = cells.get(&name).or_else(|| cells.get(OTHER)) {
            cell.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Calls `show` with every label set and its count.
    pub(super) fn each(&self, mut show: impl FnMut(&str, u64)) {
        for (labels, cell) in self.cells.load().iter() {
            show(labels, cell.load(Ordering::Relaxed));
        }
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

/// Called several times per request, nearly always with a short name in ASCII.
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
