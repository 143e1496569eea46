//! Joins, inspects and wraps chains, for callers that compose one per request.

use std::sync::Arc;

use majordomo_llm::Model;

use super::{Chain, ChainTarget};
use crate::health::Standing;
use crate::spec::TargetName;

impl Chain {
    /// Joins chains in order, dropping later duplicates of a target. The first chain's
    /// configuration and gate apply. `None` without chains.
    ///
    /// ```
    /// use majordomo::{Chain, Registry};
    /// use majordomo::fake::Fake;
    ///
    /// let registry = Registry::empty();
    /// registry.register(Fake::new("fp"));
    /// let (a, b) = (registry.model("fp/a,fp/b").unwrap(), registry.model("fp/b,fp/c").unwrap());
    /// let both = Chain::join([&a, &b]).unwrap();
    /// let names: Vec<_> = both.targets().map(|name| name.as_str()).collect();
    /// assert_eq!(names, ["fp/a", "fp/b", "fp/c"]);
    /// ```
    pub fn join<'a>(chains: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut chains = chains.into_iter();
        let first = chains.next()?;
        let Some(second) = chains.next() else {
            return Some(first.clone());
        };
        let mut targets: Vec<ChainTarget> = first.targets.to_vec();
        for chain in std::iter::once(second).chain(chains) {
            for target in chain.targets.iter() {
                if targets.iter().all(|known| known.name() != target.name()) {
                    targets.push(target.clone());
                }
            }
        }
        let observers = first.observers.clone();
        let mut joined = Self::new(targets, Arc::clone(&first.config), observers);
        joined.gate.clone_from(&first.gate);
        Some(joined)
    }

    /// The standing of each target and of its credential, in order.
    pub fn standing(&self) -> impl ExactSizeIterator<Item = [Standing; 2]> {
        self.targets.iter().map(ChainTarget::standing)
    }

    /// Wraps every model, for example to measure or limit it.
    ///
    /// Unlike a wrapper around the chain, this keeps the attempt log of streams. See
    /// [`Model::extras`] for the calls that a wrapper can miss.
    #[must_use]
    pub fn wrap(&self, wrap: impl Fn(&TargetName, Arc<dyn Model>) -> Arc<dyn Model>) -> Self {
        let targets = self.targets.iter();
        let targets = targets.map(|target| target.wrap(&wrap)).collect();
        Self {
            targets,
            ..self.clone()
        }
    }
}
