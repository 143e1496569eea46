//! Routes: requested model names and the services behind them.
//!
//! The smart rules of a route select a partition of services, or run a processor that
//! edits the request (`proxy_vision`); then the partition's pool orders its services. The
//! result is one chain.
//!
//! May use `config`, `clock`, `processors` and `refusal`.

mod blind_describer;
mod conditions;
mod dry_run;
mod partition;
mod route;
mod snapshot;
mod unprocessed;

use std::sync::Arc;

use majordomo::{Chain, Registry, Result};
use majordomo_rules::{Destination, Processors, RuleIndex, destination};
use majordomo_vision::Describers;

pub(crate) use dry_run::DryRun;
pub use dry_run::{Candidate, ExcludedService};
pub(crate) use route::{Route, RouteTrace, Routed, RoutingContext};
pub(crate) use snapshot::PartitionSnapshot;

use crate::config::{Config, Diagnostic, Diagnostics, Severity, SpecEntry};

/// All routes in file order; the first match wins.
pub(crate) struct Routes {
    routes: Vec<Route>,
    /// Describers for targets requested without a route.
    pub(crate) describers: Arc<Describers>,
    /// Doubtful settings found while building.
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Routes {
    /// Builds the routes of a configuration, keeping the statistics of `earlier`.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        processors: &Processors,
        earlier: Option<&Self>,
    ) -> Result<Self, Diagnostics> {
        let mut diagnostics = Vec::new();
        // Nodes of a cluster agree about sessions without communicating.
        let by_hash = config.cluster.is_some();
        let routes = config.routes.iter().map(|route| {
            let known = earlier.and_then(|routes| routes.find_exactly(&route.model));
            Route::new(
                route,
                registry,
                processors,
                by_hash,
                known,
                &mut diagnostics,
            )
        });
        let mut made = Self {
            routes: routes.collect(),
            describers: Arc::default(),
            warnings: Vec::new(),
        };
        made.resolve_describers(config, registry, &mut diagnostics);
        let is_warning = |found: &Diagnostic| found.severity == Severity::Warning;
        if !diagnostics.iter().all(is_warning) {
            return Err(config.diagnostics(diagnostics));
        }
        made.warnings = diagnostics;
        Ok(made)
    }

    /// The route that matches a model name.
    pub(crate) fn find(&self, model: &str) -> Option<&Route> {
        self.routes
            .iter()
            .find(|route| route.pattern.matches(model))
    }

    /// Names of routes without wildcards.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let literal = self
            .routes
            .iter()
            .filter(|route| route.pattern.is_literal());
        literal.map(|route| &*route.name)
    }

    /// The targets of all active services, including those of rules, unless they depend
    /// on the request.
    pub(crate) fn targets(&self) -> impl Iterator<Item = String> {
        let services = self.routes.iter().flat_map(Route::services);
        let static_chain = services.filter(|service| service.active);
        let chains = static_chain.filter_map(|service| service.static_chain());
        chains.flat_map(|chain| chain.targets().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// Snapshots of all partitions.
    pub(crate) fn snapshots(&self) -> Vec<PartitionSnapshot> {
        self.routes.iter().flat_map(Route::snapshots).collect()
    }

    /// Whether a rule edits requests instead of choosing their services.
    pub(crate) fn is_processed(&self, route: &str, rule: &str) -> bool {
        let Some(route) = self.find_exactly(route) else {
            return false;
        };
        let indices = (0..route.rules.len()).map(RuleIndex);
        let mut named = indices.filter(|index| route.rules.name(*index) == rule);
        let named = named.next();
        named.is_some() && destination(&route.rules, named) == Destination::Route
    }

    /// The route declared with exactly this name or pattern.
    pub(crate) fn find_exactly(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| *route.name == *name)
    }

    /// Resolves the describers of models, services and routes.
    fn resolve_describers(
        &mut self,
        config: &Config,
        registry: &Registry,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut known = Describers::new();
        for provider in &config.providers {
            for model in &provider.models {
                let target = format!("{}/{}", provider.name, model.id).parse();
                let (Some(spec), Ok(target)) = (&model.describe, target) else {
                    continue;
                };
                if let Some(chain) = self.describer(spec, registry, diagnostics) {
                    known = known.for_model(&target, chain);
                }
            }
        }
        let mut of_routes = Vec::with_capacity(self.routes.len());
        for (route, declared) in self.routes.iter().zip(&config.routes) {
            diagnostics.extend(blind_describer::check_rules(route, declared));
            let mut own = known.clone();
            let rules = declared.smart.iter().flat_map(|rule| &rule.services);
            for (service, declared_service) in
                route.services().zip(declared.services.iter().chain(rules))
            {
                let (Some(spec), Some(targets)) =
                    (&declared_service.describe, service.static_chain())
                else {
                    continue;
                };
                if let Some(chain) = self.describer(spec, registry, diagnostics) {
                    for target in targets.targets() {
                        own = own.for_service(target, chain.clone());
                    }
                }
            }
            let of_route = declared.describe.as_ref();
            if let Some(chain) =
                of_route.and_then(|spec| self.describer(spec, registry, diagnostics))
            {
                own = own.for_route(chain);
            }
            of_routes.push(Arc::new(own));
        }
        for (route, own) in self.routes.iter_mut().zip(of_routes) {
            route.describers = own;
        }
        self.describers = Arc::new(known);
    }

    /// Resolves a describer, which is a spec or a route's name.
    fn describer(
        &self,
        spec: &SpecEntry,
        registry: &Registry,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Chain> {
        let chain = match self.find(&spec.text) {
            Some(route) => route.declared_chain(&spec.text, registry).ok()?,
            None => match registry.model(&spec.text) {
                Ok(chain) => chain,
                Err(error) => {
                    let hint = "name a spec or a route";
                    diagnostics.push(Diagnostic::at(spec.span.clone(), error.to_string(), hint));
                    return None;
                }
            },
        };
        diagnostics.extend(blind_describer::check(&chain, spec));
        Some(chain)
    }
}
