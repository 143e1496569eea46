//! The order in which a request tries services.

use super::rng::PickRng;
use super::selection::Selection;
use super::{Pool, ServiceIndex};

/// Why the first service of an order comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickSource {
    /// The session is pinned to it.
    Affinity,
    /// The pool's tactic chose it.
    Tactic,
    /// No service is usable; it is the least bad one.
    LeastBad,
}

/// The services that a request tries: the picked one, then the others in the order in which
/// the tactic would pick among them. It is lazy: a caller that stops early pays for no further
/// picks.
#[derive(Debug)]
pub struct Order<'a> {
    pub(super) pool: &'a Pool,
    pub(super) first: Option<ServiceIndex>,
    pub(super) source: PickSource,
    /// The services after the first, not picked yet, in the pool's order.
    pub(super) rest: Vec<ServiceIndex>,
    pub(super) moment: u64,
    pub(super) rng: PickRng,
}

impl PickSource {
    /// The name used in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Affinity => "affinity",
            Self::Tactic => "tactic",
            Self::LeastBad => "least_bad",
        }
    }
}

impl Order<'_> {
    /// Why the first service comes first.
    pub fn source(&self) -> PickSource {
        self.source
    }
}

impl Iterator for Order<'_> {
    type Item = ServiceIndex;

    fn next(&mut self) -> Option<ServiceIndex> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let chosen = match self.rest[..] {
            [] => return None,
            [last] => last,
            _ => self.pool.tactic.choose(&Selection {
                services: &self.pool.services,
                candidates: &self.rest,
                moment: self.moment,
                rng: &self.rng,
                binding: false,
            }),
        };
        remove(&mut self.rest, chosen);
        Some(chosen)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.first.is_some()) + self.rest.len();
        (left, Some(left))
    }
}

impl ExactSizeIterator for Order<'_> {}

/// Removes a service from a list in the pool's order.
pub(super) fn remove(services: &mut Vec<ServiceIndex>, service: ServiceIndex) {
    if let Ok(place) = services.binary_search(&service) {
        services.remove(place);
    }
}
