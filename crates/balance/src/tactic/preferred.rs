//! Skips spares, and services without a free seat, while other services are available. Wraps
//! every tactic that selects single services.

use super::{Choose, Selection, ServiceIndex};
use crate::Service;

#[derive(Debug)]
pub(super) struct Preferred<T>(pub(super) T);

impl<T: Choose> Choose for Preferred<T> {
    fn choose(&self, selection: &Selection<'_>) -> ServiceIndex {
        match selection.lowest(rank) {
            Some(best) => self.0.choose(&selection.among(&best)),
            None => self.0.choose(selection),
        }
    }
}

/// A full service with a share ranks before a spare: requests wait for a seat.
fn rank(service: &Service) -> u8 {
    2 * u8::from(service.spare) + u8::from(service.is_full())
}
