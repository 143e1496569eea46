//! Passes over spares, and over services without a free seat, while others are
//! left. It stands before every tactic that looks at single services.

use super::{Choose, Round, ServiceIndex};
use crate::Service;

#[derive(Debug)]
pub(super) struct Preferred<T>(pub(super) T);

impl<T: Choose> Choose for Preferred<T> {
    fn choose(&self, round: &Round<'_>) -> ServiceIndex {
        match round.lowest(rank) {
            Some(best) => self.0.choose(&round.among(&best)),
            None => self.0.choose(round),
        }
    }
}

/// A service with a share whose seats are taken comes before a spare: a seat is
/// waited for, for a while.
fn rank(service: &Service) -> u8 {
    2 * u8::from(service.spare) + u8::from(service.is_full())
}
