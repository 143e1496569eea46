//! A partition: the services of a route or of one of its rules, balanced together.

use std::sync::Arc;
use std::time::Instant;

use majordomo::clock::{Clock, RuntimeClock};
use majordomo::{Chain, Error, ErrorKind, Registry, Result};
use majordomo_balance::{
    Metered, Pick, PickSource, Pool, PoolConfig, ServiceConfig, ServiceIndex, ServiceStats,
    Usability,
};

use crate::config;
use crate::config::Diagnostic;

/// Services and the pool that orders them.
pub(super) struct Partition {
    pub(super) pool: Pool,
    pub(super) services: Vec<Arc<RouteService>>,
}

/// A service of a partition.
pub(crate) struct RouteService {
    pub(crate) spec: String,
    /// `None` if the spec depends on the requested model.
    chain: Option<Chain>,
    stats: Arc<ServiceStats>,
    pub(super) active: bool,
    /// Lower ones are preferred.
    pub(super) tier: u32,
}

impl Partition {
    /// Builds the chains of the services, keeping the statistics of `earlier`.
    pub(super) fn new(
        services: &[config::ServiceEntry],
        pool_config: PoolConfig,
        registry: &Registry,
        earlier: Option<&Pool>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let pool_config = pool_config.with_services(services.iter().map(settings).collect());
        let pool = match earlier {
            Some(pool) => pool.reload(pool_config),
            None => Pool::new(pool_config, RuntimeClock.now()),
        };
        let made = pool.services().zip(services).map(|((_, known), service)| {
            let stats = Arc::clone(known.stats());
            Arc::new(RouteService::new(service, stats, registry, diagnostics))
        });
        let services = made.collect();
        Self { pool, services }
    }

    /// Whether any service is active.
    pub(super) fn is_active(&self) -> bool {
        self.services.iter().any(|service| service.active)
    }

    /// Orders the services; also returns the reason for the first.
    pub(super) fn order<'a>(
        &'a self,
        pick: &Pick,
    ) -> (
        PickSource,
        impl Iterator<Item = &'a Arc<RouteService>> + use<'a>,
    ) {
        let usable = |index: ServiceIndex| self.services[index.get()].usability();
        let order = self.pool.order(pick, usable);
        let source = order.source();
        (source, order.map(|index| &self.services[index.get()]))
    }
}

impl RouteService {
    fn new(
        service: &config::ServiceEntry,
        stats: Arc<ServiceStats>,
        registry: &Registry,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let spec = service.spec.text.clone();
        let chain = if spec.contains("{model}") {
            None
        } else {
            match registry.model(&spec) {
                Ok(chain) => Some(metered(&chain, &stats)),
                Err(error) => {
                    let hint = "write a target as `provider/model`";
                    diagnostics.push(Diagnostic::at(
                        service.spec.span.clone(),
                        error.to_string(),
                        hint,
                    ));
                    None
                }
            }
        };
        Self {
            spec,
            chain,
            stats,
            tier: service.tier.unwrap_or(0),
            active: service.active,
        }
    }

    /// Its targets for a requested model.
    pub(crate) fn chain(&self, requested: &str, registry: &Registry) -> Result<Chain> {
        if let Some(chain) = &self.chain {
            return Ok(chain.clone());
        }
        let spec = self.spec.replace("{model}", requested);
        let parsed = registry.model(&spec);
        let chain =
            parsed.map_err(|error| Error::new(ErrorKind::ModelNotFound, error.to_string()))?;
        Ok(metered(&chain, &self.stats))
    }

    /// Whether it seems usable now, before it is called.
    pub(super) fn usability(&self) -> Usability {
        let chain = self.chain.as_ref();
        chain.map_or(Usability::Usable, |chain| {
            Usability::of_chain(chain.standing())
        })
    }

    /// Its targets, unless they depend on the request.
    pub(super) fn static_chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    pub(super) fn stats(&self) -> &ServiceStats {
        &self.stats
    }
}

fn metered(chain: &Chain, stats: &Arc<ServiceStats>) -> Chain {
    chain.wrap(|_, model| {
        Arc::new(Metered::new(
            model,
            Arc::clone(stats),
            Arc::new(RuntimeClock),
        ))
    })
}

fn settings(service: &config::ServiceEntry) -> ServiceConfig {
    ServiceConfig::new(service.spec.text.clone())
        .with_weight(service.weight.unwrap_or(1))
        .with_tier(service.tier.unwrap_or(0))
        .with_capacity(service.capacity.map(|seats| seats as usize))
        .with_active(service.active)
}

/// The time of a pick.
pub(super) fn now() -> Instant {
    RuntimeClock.now()
}
