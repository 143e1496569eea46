//! What a tactic sees of one pick, and the two ways to choose that most share.

use super::dice::Roll;
use super::{Service, ServiceIndex};

/// More candidates than this are not all looked at, where that takes time.
const MANY: usize = 64;

/// One choice among the services that can be asked.
pub(super) struct Round<'a> {
    /// All services of the pool.
    pub(super) services: &'a [Service],
    /// Those to choose from; never empty.
    pub(super) candidates: &'a [ServiceIndex],
    /// When, in the time of the services' statistics.
    pub(super) moment: u64,
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

    /// Those of the lowest rank; none if that is everybody.
    pub(super) fn lowest<R: Ord + Copy>(
        &self,
        rank: impl Fn(&Service) -> R,
    ) -> Option<Vec<ServiceIndex>> {
        let mut ranked = self.iter().map(|(index, service)| (index, rank(service)));
        let (_, mut lowest) = ranked.next()?;
        // Everybody so far is of one rank until somebody differs; then the list
        // is made, and made anew for a lower rank.
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

    /// The cheapest one, where a cost takes time to say: of many candidates, only
    /// some are looked at, neighbours from a random place on.
    pub(super) fn cheapest_of_some(&self, cost: impl Fn(&Service) -> f64) -> ServiceIndex {
        let all = self.candidates;
        if all.len() <= MANY {
            return self.cheapest(cost);
        }
        let start = self.roll.index(all.len());
        let run = all[start..].iter().chain(&all[..start]);
        let some: Vec<ServiceIndex> = run.take(MANY).copied().collect();
        self.among(&some).cheapest(cost)
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
