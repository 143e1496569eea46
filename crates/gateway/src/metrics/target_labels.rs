//! Bounds the number of target labels.
//!
//! Clients may request `provider/anything`, and such a name is a target until its provider
//! rejects it. Configured targets always have a label. Of all other targets, only the first
//! ones have one; further ones are counted as `other`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// Maximum number of labels for names that are not configured.
pub(super) const MAX_UNCONFIGURED: usize = 256;
/// The label of all further names.
pub(super) const OTHER: &str = "other";

/// The labelled target names. Read on every request without a lock; written when a name
/// first occurs.
#[derive(Default)]
pub(super) struct TargetLabels {
    configured: ArcSwap<BTreeSet<String>>,
    unconfigured: ArcSwap<BTreeSet<String>>,
}

impl TargetLabels {
    /// Gives each of these names its own label.
    pub(super) fn configure(&self, names: BTreeSet<String>) {
        self.configured.store(Arc::new(names));
    }

    /// The label of a target.
    pub(super) fn label<'a>(&self, target: &'a str) -> &'a str {
        if self.configured.load().contains(target) || self.knows(target) {
            return target;
        }
        self.unconfigured.rcu(|known| {
            if known.len() >= MAX_UNCONFIGURED {
                return Arc::clone(known);
            }
            let mut more = BTreeSet::clone(known);
            more.insert(target.to_owned());
            Arc::new(more)
        });
        if self.knows(target) { target } else { OTHER }
    }

    fn knows(&self, target: &str) -> bool {
        self.unconfigured.load().contains(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_target_keeps_its_label_after_many_invented_names() {
        let targets = TargetLabels::default();
        for n in 0..2 * MAX_UNCONFIGURED {
            targets.label(&format!("p/{n}"));
        }
        assert_eq!(targets.label("p/0"), "p/0");
        assert_eq!(targets.label("p/new"), OTHER);
        targets.configure(BTreeSet::from(["p/new".to_owned()]));
        assert_eq!(targets.label("p/new"), "p/new");
        assert_eq!(targets.unconfigured.load().len(), MAX_UNCONFIGURED);
    }
}
