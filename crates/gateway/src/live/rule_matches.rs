//! How often each rule matched since the start.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Matches by route and rule. Both names come from the configuration, so they are few.
#[derive(Default)]
pub(crate) struct RuleMatches(Mutex<BTreeMap<String, BTreeMap<String, u64>>>);

impl RuleMatches {
    pub(super) fn count(&self, route: &str, rule: &str) {
        let mut routes = self.routes();
        match routes.get_mut(route).and_then(|rules| rules.get_mut(rule)) {
            Some(matches) => *matches += 1,
            None => {
                let rules = routes.entry(route.to_owned()).or_default();
                rules.insert(rule.to_owned(), 1);
            }
        }
    }

    pub(crate) fn of(&self, route: &str, rule: &str) -> u64 {
        let routes = self.routes();
        let rules = routes.get(route);
        rules
            .and_then(|rules| rules.get(rule))
            .copied()
            .unwrap_or(0)
    }

    fn routes(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<String, u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
