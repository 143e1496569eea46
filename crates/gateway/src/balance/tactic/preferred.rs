//! Passes over spares, and over services without a free seat, while others are
//! left. It stands before every tactic that looks at single services.

use super::{Choose, Round, ServiceIndex};
use crate::balance::Service;

#[derive(Debug)]
pub(super) struct Preferred<T>(pub(super) T);

impl<T: Choose> Choose for Preferred<T> {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let best = round.iter().map(|(_, service)| rank(service)).min();
        let all_best = round.iter().all(|(_, service)| Some(rank(service)) == best);
        if all_best {
            return self.0.choose(round);
        }
        let candidates: Vec<ServiceIndex> = round
            .iter()
            .filter(|(_, service)| Some(rank(service)) == best)
            .map(|(index, _)| index)
            .collect();
        // Seats are taken and freed meanwhile; then everybody is as good.
        if candidates.is_empty() {
            return self.0.choose(round);
        }
        self.0.choose(&round.among(&candidates))
    }
}

/// A service with a share whose seats are taken comes before a spare: a seat is
/// waited for, for a while.
fn rank(service: &Service) -> u8 {
    match (service.config().weight, service.is_full()) {
        (1.., false) => 0,
        (1.., true) => 1,
        (0, false) => 2,
        (0, true) => 3,
    }
}
