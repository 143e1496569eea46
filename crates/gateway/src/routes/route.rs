//! One name that clients ask for: its rules, its services, and how they share.

use std::sync::Arc;

use http::HeaderMap;
use majordomo::{Chain, Change, Error, ErrorKind, Registry, Request, Result};
use serde::Serialize;

use super::conditions;
use super::describe::Describe;
use super::partition::{Partition, Service, now};
use crate::balance::{Pick, PoolConfig, PoolSnapshot, SessionKey};
use crate::config::{self, Glob, Problem};
use crate::relay::wall_clock;
use crate::rules::processors::{Bypassed, Destination, Processors, apply};
use crate::rules::{RuleIndex, RuleSet, RuleSpec, Seats, ServiceStats, Services, Subject, Ttft};
use crate::vision::{Describers, Scope, Vision};

/// One name, or one pattern of names.
pub(crate) struct Route {
    pub(super) name: String,
    pub(super) pattern: Glob,
    base: Partition,
    rules: RuleSet<Arc<Service>>,
    /// One per rule.
    narrowed: Vec<Partition>,
    pub(crate) describers: Arc<Describers>,
}

/// What a request is judged by, beside itself.
pub(crate) struct Asking<'a> {
    pub(crate) model: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) session: Option<SessionKey>,
    pub(crate) scope: &'a Scope,
    pub(crate) vision: &'a Arc<Vision>,
    pub(crate) registry: &'a Registry,
}

/// The services of a route, or of one of its rules, at one moment.
#[derive(Serialize)]
pub(crate) struct PartitionSnapshot {
    route: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(flatten)]
    pool: PoolSnapshot,
}

/// Who is to serve a request, and what became of it on the way.
pub(crate) struct Routed {
    pub(crate) chain: Chain,
    pub(crate) request: Request,
    pub(crate) changes: Vec<Change>,
}

impl Route {
    pub(super) fn new(
        route: &config::Route,
        registry: &Registry,
        earlier: Option<&Self>,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let sharing = PoolConfig {
            tactic: route.balance,
            within: route.within,
            affinity: route.affinity,
            ..PoolConfig::default()
        };
        let known = earlier.map(|route| &route.base.pool);
        let base = Partition::new(&route.services, sharing.clone(), registry, known, problems);
        let mut narrowed = Vec::with_capacity(route.smart.len());
        for (index, rule) in route.smart.iter().enumerate() {
            let known = earlier.and_then(|route| route.narrowed.get(index));
            let known = known.map(|partition| &partition.pool);
            let sharing = sharing.clone();
            narrowed.push(Partition::new(
                &rule.services,
                sharing,
                registry,
                known,
                problems,
            ));
        }
        let specs = route
            .smart
            .iter()
            .zip(&narrowed)
            .map(|(rule, partition)| RuleSpec {
                name: rule.name.clone(),
                when: rule.when.iter().map(conditions::spec).collect(),
                services: partition.services.clone(),
            });
        let rules = RuleSet::compile(specs.collect()).unwrap_or_else(|errors| {
            let errors = errors.iter();
            problems.extend(errors.map(|error| conditions::problem(&route.smart, error)));
            RuleSet::default()
        });
        Self {
            name: route.model.clone(),
            pattern: Glob::new(&route.model),
            base,
            rules,
            narrowed,
            describers: Arc::default(),
        }
    }

    /// The way of one request: rules, processors, balance.
    pub(crate) async fn route(&self, asking: &Asking<'_>, request: Request) -> Result<Routed> {
        let seen = request.clone();
        let mut request = request;
        let header = |name: &str| asking.headers.get(name)?.to_str().ok();
        let mut changes = Vec::new();
        let mut destination = Destination::Route;
        if !self.narrowed.is_empty() {
            let mut subject = Subject::new(&seen, asking.model)
                .at(wall_clock())
                .headers(&header)
                .services(self);
            if let Some(key) = asking.key {
                subject = subject.key(key);
            }
            if let Some(matched) = self.rules.evaluate(&subject) {
                let mut processors = Processors::default();
                processors.register("proxy_vision", "enabled", Describe::new(asking));
                let mut had_their_turn = Bypassed::new();
                let applied = apply(
                    &self.rules,
                    Some(matched),
                    &processors,
                    &subject,
                    &mut request,
                    &mut had_their_turn,
                )
                .await;
                destination = applied.destination;
                changes = applied.changes;
                for failed in applied.processors.iter().filter(|p| p.error.is_some()) {
                    tracing::warn!(
                        route = self.name,
                        processor = failed.position,
                        reason = failed.error,
                        "a processor failed; the request goes on"
                    );
                }
            }
        }
        let chain = self.ordered(asking, destination)?;
        Ok(Routed {
            chain,
            request,
            changes,
        })
    }

    /// The services in order: those of the destination first, then the route's.
    fn ordered(&self, asking: &Asking<'_>, destination: Destination) -> Result<Chain> {
        let pick = Pick::at(now()).of(asking.session);
        let mut chains = Vec::new();
        if let Destination::Rule(RuleIndex(index)) = destination {
            let narrowed = self.narrowed.get(index).filter(|it| it.is_active());
            if let Some(partition) = narrowed {
                chains = partition.order(&pick, asking.model, asking.registry)?;
            }
        }
        let pick = if chains.is_empty() {
            pick
        } else {
            // Only a second choice: it takes no turn and pins nobody.
            pick.preview()
        };
        chains.extend(self.base.order(&pick, asking.model, asking.registry)?);
        Chain::join(&chains).ok_or_else(|| self.closed())
    }

    /// The services in the order of the file, for questions that are no requests.
    pub(crate) fn plain(&self, asked: &str, registry: &Registry) -> Result<Chain> {
        let active = self.base.services.iter().filter(|service| service.active);
        let chains: Result<Vec<Chain>> = active
            .map(|service| service.chain(asked, registry))
            .collect();
        Chain::join(&chains?).ok_or_else(|| self.closed())
    }

    /// Every service whose targets are known beforehand, those of rules included.
    pub(super) fn services(&self) -> impl Iterator<Item = &Arc<Service>> {
        let narrowed = self.narrowed.iter().flat_map(|it| &it.services);
        self.base.services.iter().chain(narrowed)
    }

    /// How the services of the route and of its rules are doing.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = PartitionSnapshot> {
        let of = |rule: Option<&str>, partition: &Partition| PartitionSnapshot {
            route: self.name.clone(),
            rule: rule.map(str::to_owned),
            pool: partition.pool.snapshot(now()),
        };
        let rules = self.narrowed.iter().enumerate();
        let rules = rules.map(move |(index, it)| of(Some(self.rules.name(RuleIndex(index))), it));
        std::iter::once(of(None, &self.base)).chain(rules)
    }

    fn closed(&self) -> Error {
        let text = format!("no service of the route `{}` is active", self.name);
        Error::new(ErrorKind::Local, text).with_status(503)
    }
}

/// What rules may know of the services that they name.
impl Services for Route {
    fn of_rule(&self, rule: RuleIndex) -> Vec<ServiceStats> {
        let Some(partition) = self.narrowed.get(rule.0) else {
            return Vec::new();
        };
        let services = partition.pool.services().zip(&partition.services);
        let figures = services.map(|((_, known), service)| {
            let first = service.stats().first_token();
            ServiceStats {
                ttft: first
                    .mean
                    .zip(first.p99)
                    .map(|(average_ms, p99_ms)| Ttft { average_ms, p99_ms }),
                seats: known.capacity().map(|capacity| Seats {
                    taken: service.stats().in_flight() as u64,
                    capacity: capacity as u64,
                }),
            }
        });
        figures.collect()
    }
}
