//! `random`, the default: weighted random. Stateless; needs no statistics.

use super::{Choose, Round, ServiceIndex};

#[derive(Debug)]
pub(super) struct Random;

impl Choose for Random {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        let chosen = round.by_share(|service| u64::from(service.weight));
        chosen.unwrap_or(round.candidates[0])
    }
}
