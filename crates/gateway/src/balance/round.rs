//! What a tactic sees of one pick, and the two ways to choose that most share.

use std::time::Instant;

use super::dice::Roll;
use super::{Service, ServiceIndex};

/// One choice among the services that can be asked.
pub(super) struct Round<'a> {
    /// All services of the pool.
    pub(super) services: &'a [Service],
    /// Those to choose from; never empty.
    pub(super) candidates: &'a [ServiceIndex],
    pub(super) now: Instant,
    pub(super) roll: &'a Roll,
    /// Whether the choice is a request's first one, which takes turns; failover
    /// and previews do not.
    pub(super) binding: bool,
}

impl<'a> Round<'a> {
    /// The same choice among fewer.
    pub(super) fn among<'b>(&'b self, candidates: &'b [ServiceIndex]) -> Round<'b> {
        Round {
            candidates,
            ..*self
        }
    }

    pub(super) fn service(&self, index: ServiceIndex) -> &'a Service {
        &self.services[index.get()]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ServiceIndex, &'a Service)> {
        let candidates = self.candidates.iter();
        candidates.map(|index| (*index, self.service(*index)))
    }

    /// The cheapest one; a random one of those that are equally cheap.
    pub(super) fn cheapest(&self, cost: impl Fn(&Service) -> f64) -> ServiceIndex {
        let (mut best, mut least, mut equals) = (self.candidates[0], f64::INFINITY, 0);
        for (index, service) in self.iter() {
            let cost = cost(service);
            if cost < least {
                (best, least, equals) = (index, cost, 1);
            } else if cost == least {
                equals += 1;
                if self.roll.below(equals) == 0 {
                    best = index;
                }
            }
        }
        best
    }

    /// A random one, each by its share; none if nobody has any.
    pub(super) fn by_share(&self, share: impl Fn(&Service) -> u64) -> Option<ServiceIndex> {
        let total: u64 = self.iter().map(|(_, service)| share(service)).sum();
        if total == 0 {
            return None;
        }
        let mut left = self.roll.below(total);
        for (index, service) in self.iter() {
            let share = share(service);
            if left < share {
                return Some(index);
            }
            left -= share;
        }
        // Shares that come from live counts may have shrunk meanwhile.
        self.candidates.last().copied()
    }
}

/// A service's weight. Spares are only ever among spares, where all are equal.
pub(super) fn weight(service: &Service) -> u32 {
    service.config().weight.max(1)
}
