//! Seeded randomness: SplitMix64 (Steele, Lea and Flood, 2014), shared without a lock.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// The increment of the state, from the golden ratio; odd, so the period is 2⁶⁴.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A pool's random number generator. Each pick derives its own from it.
#[derive(Debug)]
pub(super) struct SharedRng(AtomicU64);

/// The random number generator of one pick.
#[derive(Debug)]
pub(super) struct PickRng(Cell<u64>);

impl SharedRng {
    /// The same seed yields the same sequence; without one, each pool differs.
    pub(super) fn new(seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(INCREMENT));
        Self(AtomicU64::new(seed))
    }

    pub(super) fn derive(&self) -> PickRng {
        let state = self.0.fetch_add(INCREMENT, Ordering::Relaxed);
        // Mixed, so that the sequences of two picks are not shifted copies of each other.
        PickRng(Cell::new(mix(state)))
    }
}

impl PickRng {
    fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(INCREMENT);
        self.0.set(state);
        mix(state)
    }

    /// A number below the non-zero bound, by multiply-shift (Lemire, 2019) without
    /// rejection: the bias is negligible.
    pub(super) fn below(&self, bound: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// An index into a non-empty list of this length.
    pub(super) fn index(&self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

fn mix(state: u64) -> u64 {
    let a = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ (b >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_yields_the_same_sequence() {
        let (one, other) = (SharedRng::new(Some(7)), SharedRng::new(Some(7)));
        for _ in 0..100 {
            assert_eq!(one.derive().below(1_000), other.derive().below(1_000));
        }
    }

    #[test]
    fn values_are_uniformly_distributed() {
        let dice = SharedRng::new(Some(1));
        let mut faces = [0_u32; 6];
        for _ in 0..30_000 {
            let roll = dice.derive();
            faces[roll.index(6)] += 1;
            faces[roll.index(6)] += 1;
        }
        for count in faces {
            assert!((9_700..10_300).contains(&count), "{faces:?}");
        }
    }
}
