//! The lowest tier that can be asked, and another tactic inside it.

use super::{Choose, Round, ServiceIndex};

#[derive(Debug)]
pub(super) struct Tier(pub(super) Box<dyn Choose>);

impl Choose for Tier {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let tiers = || round.iter().map(|(_, service)| service.config().tier);
        let lowest = tiers().min();
        if tiers().all(|tier| Some(tier) == lowest) {
            return self.0.choose(round);
        }
        let candidates: Vec<ServiceIndex> = round
            .iter()
            .filter(|(_, service)| Some(service.config().tier) == lowest)
            .map(|(index, _)| index)
            .collect();
        self.0.choose(&round.among(&candidates))
    }
}
