//! The input of a tactic, and the selection algorithms that most of them share.

use super::rng::PickRng;
use super::{Service, ServiceIndex};

/// Maximum number of candidates whose cost is computed, if that is expensive.
const SAMPLE_LIMIT: usize = 64;

/// One selection among usable services.
pub(super) struct Selection<'a> {
    /// All services of the pool.
    pub(super) services: &'a [Service],
    /// The services to select from; never empty.
    pub(super) candidates: &'a [ServiceIndex],
    /// The current time, on the timeline of the statistics.
    pub(super) moment: u64,
    pub(super) rng: &'a PickRng,
    /// Whether the selection takes a turn: true for a request's first pick, false for
    /// failover and previews.
    pub(super) binding: bool,
}

impl<'a> Selection<'a> {
    /// The same selection among fewer candidates.
    pub(super) fn among<'b>(&'b self, candidates: &'b [ServiceIndex]) -> Selection<'b> {
        Selection {
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

    /// The candidates of the lowest rank; `None` if all have the same.
    pub(super) fn lowest<R: Ord + Copy>(
        &self,
        rank: impl Fn(&Service) -> R,
    ) -> Option<Vec<ServiceIndex>> {
        let mut ranked = self.iter().map(|(index, service)| (index, rank(service)));
        let (_, mut lowest) = ranked.next()?;
        // No list is built until two ranks differ; a lower rank starts it again.
        let mut chosen: Option<Vec<ServiceIndex>> = None;
        for (place, (index, rank)) in (1..).zip(ranked) {
            if rank == lowest {
                if let Some(chosen) = &mut chosen {
                    chosen.push(index);
                }
                continue;
            }
            let chosen = chosen.get_or_insert_with(|| self.candidates[..place].to_vec());
            if rank < lowest {
                lowest = rank;
                chosen.clear();
                chosen.push(index);
            }
        }
        chosen
    }

    /// The cheapest candidate, for expensive costs: of many candidates, only a run of
    /// neighbours from a random start is compared.
    pub(super) fn cheapest_of_sample(&self, cost: impl Fn(&Service) -> f64) -> ServiceIndex {
        let all = self.candidates;
        if all.len() <= SAMPLE_LIMIT {
            return self.cheapest(cost);
        }
        let start = self.rng.index(all.len());
        let run = all[start..].iter().chain(&all[..start]);
        let some: Vec<ServiceIndex> = run.take(SAMPLE_LIMIT).copied().collect();
        self.among(&some).cheapest(cost)
    }

    /// The cheapest candidate; ties are broken at random (reservoir sampling).
    pub(super) fn cheapest(&self, cost: impl Fn(&Service) -> f64) -> ServiceIndex {
        let (mut best, mut least, mut equals) = (self.candidates[0], f64::INFINITY, 0);
        for (index, service) in self.iter() {
            let cost = cost(service);
            if cost < least {
                (best, least, equals) = (index, cost, 1);
            } else if cost == least {
                equals += 1;
                if self.rng.below(equals) == 0 {
                    best = index;
                }
            }
        }
        best
    }

    /// A random candidate, weighted by share; `None` if all shares are zero.
    pub(super) fn weighted(&self, share: impl Fn(&Service) -> u64) -> Option<ServiceIndex> {
        let total: u64 = self.iter().map(|(_, service)| share(service)).sum();
        if total == 0 {
            return None;
        }
        let mut left = self.rng.below(total);
        for (index, service) in self.iter() {
            let share = share(service);
            if left < share {
                return Some(index);
            }
            left -= share;
        }
        // Shares from live counters may have shrunk since they were summed.
        self.candidates.last().copied()
    }
}
