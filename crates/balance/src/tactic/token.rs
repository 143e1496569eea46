//! The same service until it has used its tokens of this minute, then the one
//! that has used fewest. For providers that count tokens a minute.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Choose, Round, ServiceIndex};
use crate::Service;

/// The tokens of a minute after which another service's turn comes, for weight 1.
const BUDGET: f64 = 10_000.0;

#[derive(Debug)]
pub(super) struct Token {
    /// The place of the service whose turn it is.
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
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let used = |service: &Service| {
            let tokens = service.stats().tokens_at(round.moment);
            tokens as f64 / f64::from(service.weight)
        };
        let current = self.current.load(Ordering::Relaxed);
        let mut candidates = round.iter();
        let stays = candidates.find(|(index, _)| index.get() == current);
        if let Some((index, service)) = stays
            && used(service) < BUDGET
        {
            return index;
        }
        let chosen = round.cheapest_of_some(used);
        if round.binding {
            self.current.store(chosen.get(), Ordering::Relaxed);
        }
        chosen
    }
}
