//! Names that clients ask for, and the services behind them.
//!
//! A route's smart rules narrow a request to their own services or let a
//! processor change it; then the route's pool says in which order services are
//! asked. What comes out is one chain.

mod beside;
mod conditions;
mod describe;
mod figures;
mod partition;
mod rehearse;
mod route;

use std::sync::Arc;

use majordomo::{Chain, Registry, Result};
use majordomo_vision::Describers;

pub(crate) use figures::PartitionSnapshot;
pub(crate) use rehearse::Rehearsed;
pub use rehearse::{Candidate, LeftOut};
pub(crate) use route::{Asking, Route, RouteTrace, Routed};

use crate::config::{Config, Problem, Problems, Spec};

/// All routes in the order of the file; the first that matches is taken.
pub(crate) struct Routes {
    routes: Vec<Route>,
    /// Who describes images to blind targets that are asked for by themselves.
    pub(crate) describers: Arc<Describers>,
}

impl Routes {
    /// Makes the routes of a file; what earlier ones know is kept.
    pub(crate) fn new(
        config: &Config,
        registry: &Registry,
        earlier: Option<&Self>,
    ) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let routes = config.routes.iter().map(|route| {
            let known = earlier.and_then(|routes| routes.find_exactly(&route.model));
            Route::new(route, registry, known, &mut problems)
        });
        let mut made = Self {
            routes: routes.collect(),
            describers: Arc::default(),
        };
        made.introduce_describers(config, registry, &mut problems);
        if problems.is_empty() {
            Ok(made)
        } else {
            Err(config.problems(problems))
        }
    }

    /// The route of a name.
    pub(crate) fn find(&self, model: &str) -> Option<&Route> {
        self.routes
            .iter()
            .find(|route| route.pattern.matches(model))
    }

    /// Names that can be asked for as they are.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let literal = self
            .routes
            .iter()
            .filter(|route| route.pattern.is_literal());
        literal.map(|route| &*route.name)
    }

    /// The targets of all services in use, those of rules included, as far as they
    /// are known without a request.
    pub(crate) fn targets(&self) -> impl Iterator<Item = String> {
        let services = self.routes.iter().flat_map(Route::services);
        let fixed = services.filter(|service| service.active);
        let chains = fixed.filter_map(|service| service.fixed());
        chains.flat_map(|chain| chain.targets().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// How all services are doing.
    pub(crate) fn snapshots(&self) -> Vec<PartitionSnapshot> {
        self.routes.iter().flat_map(Route::snapshots).collect()
    }

    /// The route that is written like this.
    pub(crate) fn find_exactly(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| *route.name == *name)
    }

    /// Notes who describes images to whom: for models, and for services of routes.
    fn introduce_describers(
        &mut self,
        config: &Config,
        registry: &Registry,
        problems: &mut Vec<Problem>,
    ) {
        let mut known = Describers::new();
        for provider in &config.providers {
            for model in &provider.models {
                let target = format!("{}/{}", provider.name, model.id).parse();
                let (Some(spec), Ok(target)) = (&model.describe, target) else {
                    continue;
                };
                if let Some(chain) = self.describer(spec, registry, problems) {
                    known = known.for_model(&target, chain);
                }
            }
        }
        let mut of_routes = Vec::with_capacity(self.routes.len());
        for (route, said) in self.routes.iter().zip(&config.routes) {
            let mut own = known.clone();
            let rules = said.smart.iter().flat_map(|rule| &rule.services);
            for (service, said) in route.services().zip(said.services.iter().chain(rules)) {
                let (Some(spec), Some(targets)) = (&said.describe, service.fixed()) else {
                    continue;
                };
                if let Some(chain) = self.describer(spec, registry, problems) {
                    for target in targets.targets() {
                        own = own.for_service(target, chain.clone());
                    }
                }
            }
            let all = said.describe.as_ref();
            if let Some(chain) = all.and_then(|spec| self.describer(spec, registry, problems)) {
                own = own.for_route(chain);
            }
            of_routes.push(Arc::new(own));
        }
        for (route, own) in self.routes.iter_mut().zip(of_routes) {
            route.describers = own;
        }
        self.describers = Arc::new(known);
    }

    /// A describer is a spec, or a route's name.
    fn describer(
        &self,
        spec: &Spec,
        registry: &Registry,
        problems: &mut Vec<Problem>,
    ) -> Option<Chain> {
        if let Some(route) = self.find(&spec.text) {
            return route.plain(&spec.text, registry).ok();
        }
        match registry.parse(&spec.text) {
            Ok(chain) => Some(chain),
            Err(error) => {
                let hint = "name a spec or a route";
                problems.push(Problem::at(spec.span.clone(), error.to_string(), hint));
                None
            }
        }
    }
}
