//! The tactic of a list of services: the configured one, or the one that the list implies.
//!
//! Without `balance`, a list is tried in order, as a spec is. A `tier` balances by tier and a
//! `weight` selects at random by weight; with both, tiers come first and weights apply within
//! a tier.

use majordomo_balance::Tactic;

use super::{ConditionEntry, Config, Diagnostic, RouteEntry, ServiceEntry, SmartRule};
use crate::processors::PROXY_VISION;

/// How the services of one list are balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Balance {
    /// Picks a service.
    pub tactic: Tactic,
    /// The tactic within a tier; used only by [`Tactic::Tier`].
    pub within: Tactic,
}

impl RouteEntry {
    /// The tactics for the services of this route or of one of its rules.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use majordomo_gateway::config::{Config, Tactic};
    ///
    /// let text = "[[routes]]\nmodel = \"a\"\n\
    ///             services = [{ spec = \"demo/text\" }, { spec = \"demo/flaky\", tier = 1 }]";
    /// let config = Config::parse("majordomo.toml", text, &BTreeMap::new()).unwrap();
    /// let route = &config.routes[0];
    /// let balance = route.balance_of(&route.services);
    /// assert_eq!((balance.tactic, balance.within), (Tactic::Tier, Tactic::InOrder));
    /// ```
    pub fn balance_of(&self, services: &[ServiceEntry]) -> Balance {
        let unranked = match services.iter().any(ServiceEntry::has_share) {
            true => Tactic::Random,
            false => Tactic::InOrder,
        };
        let implied = match services.iter().any(|service| service.tier.is_some()) {
            true => Tactic::Tier,
            false => unranked,
        };
        Balance {
            tactic: self.balance.unwrap_or(implied),
            within: self.within.unwrap_or(unranked),
        }
    }

    /// The list of services whose picks were random before in-order lists became the
    /// default.
    fn formerly_random(&self) -> Option<&[ServiceEntry]> {
        let rules = self.smart.iter().filter(|rule| !describes(rule));
        let rules = rules.map(|rule| &*rule.services);
        let mut lists = [&*self.services].into_iter().chain(rules);
        lists.find(|services| {
            let before = self.balance.unwrap_or(Tactic::Random);
            let Balance { tactic, within } = self.balance_of(services);
            let mut active: Vec<u32> = services
                .iter()
                .filter(|service| service.active && service.weight != Some(0))
                .map(|service| service.tier.unwrap_or_default())
                .collect();
            let several = active.len() > 1;
            active.sort_unstable();
            let shared_tier = active.windows(2).any(|pair| pair[0] == pair[1]);
            match before {
                Tactic::Random => several && tactic != Tactic::Random,
                Tactic::Tier => shared_tier && self.within.is_none() && within != Tactic::Random,
                _ => false,
            }
        })
    }
}

/// Whether the services of a rule are describers, which have always been tried in order.
fn describes(rule: &SmartRule) -> bool {
    let describing = |condition: &ConditionEntry| matches!(condition, ConditionEntry::Leaf(leaf) if leaf.position == PROXY_VISION);
    rule.when.iter().any(describing)
}

impl ServiceEntry {
    /// Whether it has an explicit share. A weight of 0 is none: it marks a spare.
    fn has_share(&self) -> bool {
        self.weight.is_some_and(|weight| weight > 0)
    }
}

impl Config {
    /// A warning for a file without `version` in which the default of `balance` matters.
    pub(super) fn changed_default(&self) -> Option<Diagnostic> {
        let changed = |route: &&RouteEntry| route.formerly_random().is_some();
        let mut routes = self.routes.iter().filter(changed);
        let first = routes.next()?;
        let services = first.formerly_random()?;
        let order = match first.balance_of(services).tactic {
            Tactic::Tier => "by tier",
            _ => "in order",
        };
        let more = match routes.count() {
            0 => String::new(),
            1 => " (and 1 more route)".to_owned(),
            count => format!(" (and {count} more routes)"),
        };
        let name = &first.model;
        Some(Diagnostic::warning(
            first.span.clone(),
            format!(
                "the default of `balance` has changed: the services of `{name}`{more} are now \
                 tried {order}; they were picked at random"
            ),
            "set `balance = \"random\"` to restore that, or write `version = 1` at the top of the \
             file to accept the new default",
        ))
    }
}
