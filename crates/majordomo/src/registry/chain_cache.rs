//! The chains of recent specs, so that a request that names one again builds nothing.
//!
//! A registry may change while in use: a chain is kept only if nothing changed while it was
//! built, and every change drops all chains. The number of chains and the length of specs
//! are bounded, since clients may invent either.

use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::sync::Cache;

use crate::chain::Chain;

/// Chains kept.
const MAX_CHAINS: usize = 128;
/// Longest spec whose chain is kept. The health of a longer name is not shared either.
const LONGEST_SPEC: usize = 256;

pub(super) struct ChainCache {
    chains: Cache<String, Chain>,
    /// Number of changes of the registry.
    changes: AtomicU64,
}

impl Default for ChainCache {
    fn default() -> Self {
        Self {
            chains: Cache::new(MAX_CHAINS),
            changes: AtomicU64::new(0),
        }
    }
}

impl ChainCache {
    /// The chain of a spec, if it is kept.
    pub(super) fn get(&self, spec: &str) -> Option<Chain> {
        self.chains.get(spec)
    }

    /// Number of changes so far, to be read before a chain is built.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Keeps a chain that was built after `changes` changes. The caller holds the
    /// registry's lock, so that none happens meanwhile.
    pub(super) fn keep(&self, spec: &str, chain: &Chain, changes: u64) {
        if spec.len() <= LONGEST_SPEC && self.changes() == changes {
            self.chains.insert(spec.to_owned(), chain.clone());
        }
    }

    /// Drops all chains, since the registry changes. The caller holds the registry's lock
    /// exclusively.
    pub(super) fn drop_all(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.chains.clear();
    }
}
