//! A small gateway around pools: two scripted providers with metered models, real chains,
//! real health, virtual time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use majordomo::clock::{Clock, RuntimeClock};
use majordomo::fake::{Fake, Step};
use majordomo::health::HealthStatus;
use majordomo::llm::ModelInfo;
use majordomo::{BoxFuture, Chain, Error, Model, Provider, Registry, Request, Response, Result};
use majordomo_balance::{
    Metered, Pick, PickSource, Pool, PoolConfig, Service, ServiceConfig, ServiceIndex,
    ServiceStats, SessionHints, SessionKey, Tactic, Usability,
};

/// The providers `up` and `alt` share nothing, not even a credential.
pub(crate) struct TestGateway {
    pub(crate) registry: Registry,
    pub(crate) up: Fake,
    meters: Meters,
}

/// The statistics that each target feeds.
type Meters = Arc<Mutex<HashMap<String, Arc<ServiceStats>>>>;

/// The outcome of one request.
pub(crate) struct RequestOutcome {
    pub(crate) order: Vec<String>,
    pub(crate) source: PickSource,
    pub(crate) result: Result<Response>,
}

impl RequestOutcome {
    /// The service that was picked first.
    pub(crate) fn first(&self) -> &str {
        self.order.first().map_or("none", |id| id)
    }

    /// The service that responded.
    pub(crate) fn served(&self) -> String {
        match &self.result {
            Ok(response) => response.model.clone(),
            Err(error) => format!("none: {error}"),
        }
    }
}

impl TestGateway {
    pub(crate) fn new() -> Self {
        let registry = Registry::empty();
        let meters = Meters::default();
        let (up, alt) = (Fake::new("up"), Fake::new("alt"));
        for fake in [&up, &alt] {
            registry.register(MeteredProvider {
                fake: fake.clone(),
                meters: Arc::clone(&meters),
            });
        }
        Self {
            registry,
            up,
            meters,
        }
    }

    /// A pool whose services are metered from now on.
    pub(crate) fn pool(&self, config: PoolConfig) -> Pool {
        let pool = Pool::new(config, now());
        self.meter(&pool);
        pool
    }

    pub(crate) fn meter(&self, pool: &Pool) {
        let mut meters = self.meters.lock().expect("not poisoned");
        for (_, service) in pool.services() {
            meters.insert(service.id().to_owned(), Arc::clone(service.stats()));
        }
    }

    /// The usability of a service: that of its best target with its credential.
    pub(crate) fn usability(&self, service: &Service) -> Usability {
        let health = self.registry.health().snapshot();
        let of = |subject: &str| {
            let mut all = health.iter();
            let status = all.find(|status| status.subject == subject);
            status.map_or(Usability::Usable, |status| Usability::of(status, now()))
        };
        let targets = service.id().split(',').map(|target| {
            let (provider, _) = target.split_once('/').expect("a target name");
            of(target).and(of(provider))
        });
        targets.reduce(Usability::or).expect("a spec has a target")
    }

    pub(crate) fn usable<'a>(&'a self, pool: &'a Pool) -> impl Fn(ServiceIndex) -> Usability + 'a {
        |index| self.usability(pool.service(index))
    }

    /// Sends a request without a session.
    pub(crate) async fn send(&self, pool: &Pool) -> RequestOutcome {
        self.send_as(pool, None).await
    }

    /// Sends a request of a session.
    pub(crate) async fn send_as(&self, pool: &Pool, session: Option<SessionKey>) -> RequestOutcome {
        self.send_in(&[pool], session).await
    }

    /// Sends a request of a session to a partition, then to the route.
    pub(crate) async fn send_in(
        &self,
        pools: &[&Pool],
        session: Option<SessionKey>,
    ) -> RequestOutcome {
        let (chain, order, source) = self.chain(pools, session);
        RequestOutcome {
            order,
            source,
            result: chain.generate(Request::user("hi")).await,
        }
    }

    /// The chain of one request: all services of the first pool, then of the next.
    pub(crate) fn chain(
        &self,
        pools: &[&Pool],
        session: Option<SessionKey>,
    ) -> (Chain, Vec<String>, PickSource) {
        let mut source = None;
        let mut ids = Vec::new();
        for pool in pools {
            let order = pool.order(&Pick::at(now()).of(session), self.usable(pool));
            source = source.or(Some(order.source()));
            ids.extend(order.map(|index| pool.service(index).id().to_owned()));
        }
        let chain = self.registry.model(&ids.join(",")).expect("known services");
        (chain, ids, source.expect("at least one pool"))
    }

    /// All calls to `up`, in order.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.up.calls().into_iter();
        calls.map(|call| call.model).collect()
    }

    pub(crate) fn health(&self, subject: &str) -> Option<HealthStatus> {
        let all = self.registry.health().snapshot().into_iter();
        all.into_iter().find(|status| status.subject == subject)
    }
}

/// Wraps models of metered services.
struct MeteredProvider {
    fake: Fake,
    meters: Meters,
}

impl Provider for MeteredProvider {
    fn name(&self) -> &str {
        self.fake.name()
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        let model = self.fake.model(id)?;
        let meters = self.meters.lock().expect("not poisoned");
        Ok(match meters.get(model.name()) {
            Some(stats) => Arc::new(metered(model, stats)),
            None => model,
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        self.fake.models()
    }
}

pub(crate) fn metered(model: Arc<dyn Model>, stats: &Arc<ServiceStats>) -> Metered {
    Metered::new(model, Arc::clone(stats), Arc::new(RuntimeClock))
}

/// Services that differ only in their names.
pub(crate) fn flat(ids: &[&str]) -> PoolConfig {
    PoolConfig::default()
        .with_services(ids.iter().map(|id| ServiceConfig::new(*id)).collect())
        .with_seed(Some(11))
}

/// One tier per list.
pub(crate) fn tiers(tiers: &[&[&str]]) -> PoolConfig {
    let service = |tier, id: &&str| ServiceConfig::new(*id).with_tier(tier);
    let services = (0..).zip(tiers);
    PoolConfig::default()
        .with_services(
            services
                .flat_map(|(tier, ids)| ids.iter().map(move |id| service(tier, id)))
                .collect(),
        )
        .with_tactic(Tactic::Tier)
        .with_seed(Some(11))
}

/// The same pool, with sessions pinned for half an hour.
pub(crate) fn pinned(config: PoolConfig) -> PoolConfig {
    config.with_affinity(Some(secs(1_800)))
}

pub(crate) fn session(name: &str) -> Option<SessionKey> {
    SessionKey::of(&SessionHints {
        user_id: Some(name),
        ..SessionHints::default()
    })
}

pub(crate) fn status(status: u16) -> Step {
    Step::fail(Error::http(status, "scripted"))
}

pub(crate) fn statuses(status: u16, times: usize) -> Vec<Step> {
    let error = Error::http(status, "scripted");
    vec![Step::fail(error); times]
}

pub(crate) fn now() -> Instant {
    RuntimeClock.now()
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Advances virtual time.
pub(crate) async fn pass(seconds: u64) {
    tokio::time::advance(secs(seconds)).await;
}
