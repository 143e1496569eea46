//! Reports describers that take no images themselves.
//!
//! Such a describer is skipped at every request, so images are never described. Only models
//! that are known to take no images are reported.

use majordomo::Chain;

use super::Route;
use crate::config::{ConditionEntry, Diagnostic, RouteEntry, SpecEntry};
use crate::processors::PROXY_VISION;

/// Checks the chain of a `describe` setting.
pub(super) fn check(chain: &Chain, spec: &SpecEntry) -> Option<Diagnostic> {
    is_blind(chain).then(|| diagnostic(spec))
}

/// Checks the describers of the `proxy_vision` rules of a route: each rule needs one that
/// takes images.
pub(super) fn check_rules(route: &Route, declared: &RouteEntry) -> Vec<Diagnostic> {
    let rules = declared.smart.iter().zip(&route.rule_partitions);
    let describing = rules.filter(|(rule, _)| rule.when.iter().any(names_proxy_vision));
    let blind = describing.filter_map(|(rule, partition)| {
        let mut chains = partition
            .services
            .iter()
            .map(|service| service.static_chain());
        let all_blind = chains.all(|chain| chain.is_some_and(is_blind));
        let first = rule.services.first().filter(|_| all_blind)?;
        Some(diagnostic(&first.spec))
    });
    blind.collect()
}

/// Whether no target of the chain takes images.
fn is_blind(chain: &Chain) -> bool {
    let mut targets = chain.describe();
    targets.all(|(_, capabilities)| !capabilities.takes_images())
}

fn names_proxy_vision(condition: &ConditionEntry) -> bool {
    match condition {
        ConditionEntry::Leaf(comparison) => comparison.position == PROXY_VISION,
        ConditionEntry::Any { conditions, .. } => conditions.iter().any(names_proxy_vision),
        // A rule for requests without images describes nothing.
        ConditionEntry::Not { .. } => false,
    }
}

fn diagnostic(spec: &SpecEntry) -> Diagnostic {
    Diagnostic::warning(
        spec.span.clone(),
        "this describer takes no images, so it cannot describe any",
        "name a model that takes images; if this one does, set `images = true` in \
         [providers.NAME.models.\"MODEL\"]",
    )
}
