//! `tier`: the lowest usable tier, with another tactic inside it.

use super::{Choose, Selection, ServiceIndex};

#[derive(Debug)]
pub(super) struct Tier(pub(super) Box<dyn Choose>);

impl Choose for Tier {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        match selection.lowest(|service| service.tier) {
            Some(tier) => self.0.choose(&selection.among(&tier)),
            None => self.0.choose(selection),
        }
    }
}
