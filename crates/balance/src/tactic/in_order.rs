//! `in_order`: the first usable service of the list. Stateless; needs no statistics.

use super::{Choose, Selection, ServiceIndex};

#[derive(Debug)]
pub(super) struct InOrder;

impl Choose for InOrder {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        // Candidates are in the pool's order.
        selection.candidates[0]
    }
}
