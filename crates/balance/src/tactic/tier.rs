//! `tier`: the lowest usable tier, with another tactic inside it.

use super::{Choose, Round, ServiceIndex};

#[derive(Debug)]
pub(super) struct Tier(pub(super) Box<dyn Choose>);

impl Choose for Tier {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        match round.lowest(|service| service.tier) {
            Some(tier) => self.0.choose(&round.among(&tier)),
            None => self.0.choose(round),
        }
    }
}
