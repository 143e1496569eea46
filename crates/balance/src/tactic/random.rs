//! `random`: weighted random. Stateless; needs no statistics.

use super::{Choose, Selection, ServiceIndex};

#[derive(Debug)]
pub(super) struct Random;

impl Choose for Random {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        let chosen = selection.weighted(|service| u64::from(service.weight));
        chosen.unwrap_or(selection.candidates[0])
    }
}
