//! `token`: the same service until it has used its tokens of this minute, then the one
//! that has used the fewest. For providers with a quota of tokens per minute.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Choose, Selection, ServiceIndex};
use crate::Service;

/// Tokens per minute after which the next service takes over, for weight 1.
const BUDGET: f64 = 10_000.0;

#[derive(Debug)]
pub(super) struct Token {
    /// The index of the current service.
    current: AtomicUsize,
}

impl Default for Token {
    fn default() -> Self {
        Self {
            current: AtomicUsize::new(usize::MAX),
        }
    }
}

impl Choose for Token {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let used = |service: &Service| {
            let tokens = service.stats().tokens_at(selection.moment);
            tokens as f64 / f64::from(service.weight)
        };
        let current = self.current.load(Ordering::Relaxed);
        let mut candidates = selection.iter();
        let stays = candidates.find(|(index, _)| index.get() == current);
        if let Some((index, service)) = stays
            && used(service) < BUDGET
        {
            return index;
        }
        let chosen = selection.cheapest_of_sample(used);
        if selection.binding {
            self.current.store(chosen.get(), Ordering::Relaxed);
        }
        chosen
    }
}
