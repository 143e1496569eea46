//! The services of one partition, and how one of them is picked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::affinity::{Pins, RECOVERY_HOLD};
use super::order::remove;
use super::rng::SharedRng;
use super::selection::Selection;
use super::stats::moment;
use super::tactic::Choose;
use super::{
    Order, Pick, PickSource, PoolConfig, PoolSnapshot, Service, ServiceConfig, ServiceIndex,
    SessionKey, Tactic, Usability,
};

/// The services of one partition, shared by all requests. The set of services never
/// changes: a reload builds a new pool that takes over the state of the old one.
#[derive(Debug)]
pub struct Pool {
    /// Start of the statistics' timeline; kept across reloads.
    epoch: Instant,
    pub(super) services: Box<[Service]>,
    kind: Tactic,
    pub(super) tactic: Box<dyn Choose>,
    rng: SharedRng,
    affinity: Option<Affinity>,
}

#[derive(Debug)]
struct Affinity {
    lasts: Duration,
    pins: Arc<Pins>,
    by_hash: bool,
}

/// The usable services, and the fallback if there are none.
struct Candidates {
    candidates: Vec<ServiceIndex>,
    least_bad: Option<ServiceIndex>,
}

impl Pool {
    /// Creates a pool without statistics.
    pub fn new(config: PoolConfig, now: Instant) -> Self {
        Self::build(config, now, None, |config| Service::new(config, now))
    }

    /// Builds the pool of a new configuration. Services with the same id keep their
    /// statistics, in-flight requests and sessions; a new capacity takes effect at once.
    #[must_use]
    pub fn reload(&self, config: PoolConfig) -> Self {
        let mut known: Vec<Option<&Service>> = self.services.iter().map(Some).collect();
        let pins = self
            .affinity
            .as_ref()
            .map(|affinity| Arc::clone(&affinity.pins));
        Self::build(config, self.epoch, pins, |config| {
            let same = |service: &&Service| service.id() == config.id;
            let found = known
                .iter_mut()
                .find(|service| service.as_ref().is_some_and(same));
            // Take each service once: a duplicated id denotes two services.
            match found.and_then(Option::take) {
                Some(service) => service.reloaded(config),
                None => Service::new(config, self.epoch),
            }
        })
    }

    fn build(
        config: PoolConfig,
        epoch: Instant,
        pins: Option<Arc<Pins>>,
        service: impl FnMut(ServiceConfig) -> Service,
    ) -> Self {
        let services: Box<[Service]> = config.services.into_iter().map(service).collect();
        Self {
            epoch,
            tactic: config.tactic.build(config.within, &services),
            kind: config.tactic,
            rng: SharedRng::new(config.seed),
            affinity: config.affinity.map(|lasts| Affinity {
                lasts,
                pins: pins.unwrap_or_default(),
                by_hash: config.by_hash,
            }),
            services,
        }
    }

    /// The services in configuration order.
    pub fn services(&self) -> impl ExactSizeIterator<Item = (ServiceIndex, &Service)> {
        let services = self.services.iter().enumerate();
        services.map(|(index, service)| (ServiceIndex::new(index), service))
    }

    /// Returns a service. The index must come from this pool.
    pub fn service(&self, index: ServiceIndex) -> &Service {
        &self.services[index.get()]
    }

    /// Returns the order in which a request tries services. Inactive, benched, closed and
    /// incapable services are excluded. If that excludes all of them, the order contains
    /// only the least bad one: the one whose bench ends first, else the one that reopens
    /// first, else an incapable one. A pool without an active service yields an empty
    /// order.
    ///
    /// `usable` is called once per active service.
    pub fn order(&self, pick: &Pick, usable: impl Fn(ServiceIndex) -> Usability) -> Order<'_> {
        let moment = moment(self.epoch, pick.now);
        let Candidates {
            mut candidates,
            least_bad,
        } = self.candidates_for(moment, usable);
        let mut order = Order {
            pool: self,
            first: least_bad,
            source: PickSource::LeastBad,
            rest: Vec::new(),
            moment,
            rng: self.rng.derive(),
        };
        if !candidates.is_empty() {
            let (first, source) = self.first(pick, &candidates, &order);
            remove(&mut candidates, first);
            order.first = Some(first);
            order.source = source;
            order.rest = candidates;
        }
        if let Some(first) = order.first.filter(|_| !pick.preview) {
            self.service(first).stats().record_pick();
        }
        order
    }

    fn candidates_for(
        &self,
        moment: u64,
        usable: impl Fn(ServiceIndex) -> Usability,
    ) -> Candidates {
        let mut candidates = Vec::with_capacity(self.services.len());
        let mut first_free: Option<(Instant, ServiceIndex)> = None;
        let mut first_open: Option<(Instant, ServiceIndex)> = None;
        let mut incapable = None;
        let watched = self.kind == Tactic::Tier && self.affinity.is_some();
        for (index, service) in self.services() {
            if !service.active {
                continue;
            }
            let usability = usable(index);
            if watched {
                service.observe(usability, moment);
            }
            match usability {
                Usability::Usable | Usability::Probe => candidates.push(index),
                Usability::Benched { until } => {
                    if first_free.is_none_or(|(least, _)| until < least) {
                        first_free = Some((until, index));
                    }
                }
                Usability::Closed { until } => {
                    if first_open.is_none_or(|(least, _)| until < least) {
                        first_open = Some((until, index));
                    }
                }
                Usability::Incapable => incapable = incapable.or(Some(index)),
            }
        }
        Candidates {
            candidates,
            least_bad: first_free
                .or(first_open)
                .map(|(_, index)| index)
                .or(incapable),
        }
    }

    fn first(
        &self,
        pick: &Pick,
        candidates: &[ServiceIndex],
        order: &Order<'_>,
    ) -> (ServiceIndex, PickSource) {
        let affinity = self.affinity.as_ref().zip(pick.session);
        if let Some((Affinity { by_hash: true, .. }, session)) = affinity {
            return (
                self.hashed(session, candidates, order),
                PickSource::Affinity,
            );
        }
        if let Some((affinity, session)) = affinity
            && let Some(index) = self.pinned(affinity, session, candidates, pick.now)
        {
            return (index, PickSource::Affinity);
        }
        let chosen = match candidates {
            [only] => *only,
            _ => self.tactic.choose(&Selection {
                services: &self.services,
                candidates,
                moment: order.moment,
                rng: &order.rng,
                binding: !pick.preview,
            }),
        };
        if let Some((affinity, session)) = affinity.filter(|_| !pick.preview) {
            let identity = self.service(chosen).identity;
            affinity.pins.set(session, identity, pick.now);
        }
        (chosen, PickSource::Tactic)
    }

    /// The service of a session among the usable ones, which is the same in every process.
    /// Tiers, spares and free seats count as in every tactic.
    fn hashed(
        &self,
        session: SessionKey,
        candidates: &[ServiceIndex],
        order: &Order<'_>,
    ) -> ServiceIndex {
        let all = Selection {
            services: &self.services,
            candidates,
            moment: order.moment,
            rng: &order.rng,
            binding: false,
        };
        let tier = |service: &Service| match self.kind {
            Tactic::Tier => service.tier,
            _ => 0,
        };
        let best = all.lowest(|service| (tier(service), service.spare, service.is_full()));
        let best = best.as_deref().unwrap_or(candidates);
        let best = all.among(best);
        let services = best.iter();
        let services = services.map(|(index, service)| (index, service.id(), service.weight));
        session.rendezvous(services).unwrap_or(candidates[0])
    }

    /// The service that the session is pinned to, if it is usable and no better tier has
    /// been healthy for long enough.
    fn pinned(
        &self,
        affinity: &Affinity,
        session: SessionKey,
        candidates: &[ServiceIndex],
        now: Instant,
    ) -> Option<ServiceIndex> {
        let identity = affinity.pins.find(session, affinity.lasts, now)?;
        let services = || {
            candidates
                .iter()
                .map(|index| (*index, self.service(*index)))
        };
        let (index, pinned) = services().find(|(_, s)| s.identity == identity)?;
        if self.kind != Tactic::Tier {
            return Some(index);
        }
        let moment = moment(self.epoch, now);
        let mut better = services().filter(|(_, service)| service.tier < pinned.tier);
        let held = better.all(|(_, service)| service.recovered_within(RECOVERY_HOLD, moment));
        held.then_some(index)
    }

    /// The name of the pool's tactic.
    pub fn tactic_name(&self) -> &'static str {
        self.kind.name()
    }

    /// A snapshot of the pool for display.
    pub fn snapshot(&self, now: Instant) -> PoolSnapshot {
        PoolSnapshot {
            tactic: self.kind.name(),
            sessions: self.affinity.as_ref().map(|affinity| affinity.pins.len()),
            services: self.services().map(|(_, s)| s.snapshot(now)).collect(),
        }
    }
}
