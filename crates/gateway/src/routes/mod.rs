//! Names that clients ask for, and the services behind them.

use majordomo::{Chain, Error, ErrorKind, Registry, Result};

use crate::config::{self, Config, Glob, Problem, Problems};

/// All routes in the order of the file; the first that matches is taken.
pub(crate) struct Routes {
    routes: Vec<Route>,
}

/// One name, or one pattern of names.
pub(crate) struct Route {
    name: String,
    pattern: Glob,
    services: Vec<Service>,
}

/// One of those who share a route's work.
struct Service {
    spec: String,
    /// Ready, unless the spec holds the name that the client asked for.
    chain: Option<Chain>,
}

impl Routes {
    pub(crate) fn new(config: &Config, registry: &Registry) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let routes = config.routes.iter();
        let routes = routes
            .map(|route| Route::new(route, registry, &mut problems))
            .collect();
        if problems.is_empty() {
            Ok(Self { routes })
        } else {
            Err(Problems::new(config.source.clone(), problems))
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
        literal.map(|route| route.name.as_str())
    }
}

impl Route {
    fn new(route: &config::Route, registry: &Registry, problems: &mut Vec<Problem>) -> Self {
        let active = route.services.iter().filter(|service| service.active);
        let services = active.map(|service| {
            let spec = service.spec.text.clone();
            let chain = if spec.contains("{model}") {
                None
            } else {
                match registry.parse(&spec) {
                    Ok(chain) => Some(chain),
                    Err(error) => {
                        problems.push(Problem::at(service.span.clone(), error.to_string(), ""));
                        None
                    }
                }
            };
            Service { spec, chain }
        });
        Self {
            services: services.collect(),
            name: route.model.clone(),
            pattern: Glob::new(&route.model),
        }
    }

    /// The services in the order of the file, as one chain.
    pub(crate) fn chain(&self, asked: &str, registry: &Registry) -> Result<Chain> {
        let mut chains = Vec::with_capacity(self.services.len());
        for service in &self.services {
            chains.push(match &service.chain {
                Some(chain) => chain.clone(),
                None => {
                    let spec = service.spec.replace("{model}", asked);
                    registry
                        .parse(&spec)
                        .map_err(|error| Error::new(ErrorKind::ModelNotFound, error.to_string()))?
                }
            });
        }
        Chain::join(&chains).ok_or_else(|| {
            let text = format!("no service of the route `{}` is active", self.name);
            Error::new(ErrorKind::Local, text).with_status(503)
        })
    }
}
