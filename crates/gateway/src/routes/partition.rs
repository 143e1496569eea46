//! The services of a route or of one of its rules: who shares the work.

use std::sync::Arc;
use std::time::Instant;

use majordomo::{Chain, Clock, Error, ErrorKind, Registry, Result, RuntimeClock};
use majordomo_balance::{
    Metered, Pick, PickSource, Pool, PoolConfig, ServiceConfig, ServiceIndex, ServiceStats,
    Usability,
};

use crate::config;
use crate::config::Problem;

/// Services with a pool that orders them.
pub(super) struct Partition {
    pub(super) pool: Pool,
    pub(super) services: Vec<Arc<Service>>,
}

/// One of those who share the work.
pub(crate) struct Service {
    pub(crate) spec: String,
    /// Ready, unless the spec holds the name that the client asked for.
    chain: Option<Chain>,
    stats: Arc<ServiceStats>,
    pub(super) active: bool,
}

impl Partition {
    /// Makes the chains of some services. What an earlier pool knows is kept.
    pub(super) fn new(
        services: &[config::Service],
        sharing: PoolConfig,
        registry: &Registry,
        earlier: Option<&Pool>,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let sharing = PoolConfig {
            services: services.iter().map(settings).collect(),
            ..sharing
        };
        let pool = match earlier {
            Some(pool) => pool.reload(sharing),
            None => Pool::new(sharing, RuntimeClock.now()),
        };
        let made = pool.services().zip(services).map(|((_, known), service)| {
            let stats = Arc::clone(known.stats());
            Arc::new(Service::new(service, stats, registry, problems))
        });
        let services = made.collect();
        Self { pool, services }
    }

    /// Whether anybody of them may be asked at all.
    pub(super) fn is_active(&self) -> bool {
        self.services.iter().any(|service| service.active)
    }

    /// The services in the order in which they are to be asked, and why the first
    /// is the first.
    pub(super) fn order<'a>(
        &'a self,
        pick: &Pick,
    ) -> (PickSource, impl Iterator<Item = &'a Arc<Service>> + use<'a>) {
        let usable = |index: ServiceIndex| self.services[index.get()].usability();
        let order = self.pool.order(pick, usable);
        let source = order.source();
        (source, order.map(|index| &self.services[index.get()]))
    }
}

impl Service {
    fn new(
        service: &config::Service,
        stats: Arc<ServiceStats>,
        registry: &Registry,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let spec = service.spec.text.clone();
        let chain = if spec.contains("{model}") {
            None
        } else {
            match registry.parse(&spec) {
                Ok(chain) => Some(metered(&chain, &stats)),
                Err(error) => {
                    let hint = "write a target as `provider/model`";
                    problems.push(Problem::at(
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
            active: service.active,
        }
    }

    /// Its targets, for a client who asked for this.
    pub(crate) fn chain(&self, asked: &str, registry: &Registry) -> Result<Chain> {
        if let Some(chain) = &self.chain {
            return Ok(chain.clone());
        }
        let spec = self.spec.replace("{model}", asked);
        let parsed = registry.parse(&spec);
        let chain =
            parsed.map_err(|error| Error::new(ErrorKind::ModelNotFound, error.to_string()))?;
        Ok(metered(&chain, &self.stats))
    }

    /// Whether it can be asked now, as far as that is known beforehand.
    pub(super) fn usability(&self) -> Usability {
        let chain = self.chain.as_ref();
        chain.map_or(Usability::Usable, |chain| {
            Usability::of_chain(chain.standing())
        })
    }

    /// Its targets, if they do not depend on what was asked for.
    pub(super) fn fixed(&self) -> Option<&Chain> {
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

fn settings(service: &config::Service) -> ServiceConfig {
    ServiceConfig {
        weight: service.weight,
        tier: service.tier,
        capacity: service.capacity.map(|seats| seats as usize),
        active: service.active,
        ..ServiceConfig::new(service.spec.text.clone())
    }
}

/// The moment of a pick.
pub(super) fn now() -> Instant {
    RuntimeClock.now()
}
