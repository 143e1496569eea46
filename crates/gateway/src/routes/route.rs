//! One name that clients ask for: its rules, its services, and how they share.

use std::sync::Arc;

use http::HeaderMap;
use majordomo::{Chain, Change, Error, ErrorKind, Registry, Request, Result};
use majordomo_balance::{Pick, PickSource, PoolConfig, SessionKey};
use majordomo_rules::Glob;
use majordomo_rules::processors::{Bypassed, Destination, ProcessorTrace, Processors, apply};
use majordomo_rules::{Notes, RuleIndex, RuleSet, RuleSpec, Subject};
use majordomo_vision::{Describers, Scope, Vision};

use super::conditions;
use super::describe::Describe;
use super::partition::{Partition, Service, now};
use crate::clock::wall_clock;
use crate::config::{self, Problem};

/// One name, or one pattern of names.
pub(crate) struct Route {
    pub(super) name: Arc<str>,
    pub(super) pattern: Glob,
    pub(super) base: Partition,
    pub(super) rules: RuleSet<Arc<Service>>,
    /// One per rule.
    pub(super) narrowed: Vec<Partition>,
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
    /// Whether a trace will be kept.
    pub(crate) traced: bool,
    /// Whether it takes its turn and pins its session; else it only wants to know.
    pub(crate) binding: bool,
}

/// Who is to serve a request, and what became of it on the way.
pub(crate) struct Routed {
    pub(crate) chain: Chain,
    pub(crate) request: Request,
    pub(crate) changes: Vec<Change>,
    pub(crate) trace: RouteTrace,
}

/// Why a request went where it went, in a form that can be kept: it quotes
/// nothing of what the client said.
#[derive(Debug)]
pub(crate) struct RouteTrace {
    /// The route's name.
    pub(crate) route: Arc<str>,
    /// What was looked at in its rules; none if it has none, or no traces are kept.
    pub(crate) rules: Option<Notes>,
    /// The processors that ran.
    pub(crate) processors: Vec<ProcessorTrace>,
    /// Why the first service was the first.
    pub(crate) because: &'static str,
}

/// The turn of some services in a request.
pub(super) struct Turn<'a> {
    /// The rule whose services they are; none for the route's own.
    pub(super) rule: Option<RuleIndex>,
    pub(super) partition: &'a Partition,
    pub(super) pick: Pick,
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
            name: route.model.as_str().into(),
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
        let mut changes = Vec::new();
        let mut destination = Destination::Route;
        let mut rules = None;
        let mut ran = Vec::new();
        if !self.narrowed.is_empty() {
            let header = |name: &str| asking.headers.get(name)?.to_str().ok();
            let subject = self.subject(&seen, asking, &header);
            let matched = if asking.traced {
                let (matched, notes) = self.rules.evaluate_with_notes(&subject);
                rules = Some(notes);
                matched
            } else {
                self.rules.evaluate(&subject)
            };
            if matched.is_some() {
                let mut had_their_turn = Bypassed::new();
                let applied = apply(
                    &self.rules,
                    matched,
                    &processors(asking),
                    &subject,
                    &mut request,
                    &mut had_their_turn,
                )
                .await;
                destination = applied.destination;
                changes = applied.changes;
                ran = applied.processors;
                self.tell_failures(&ran);
            }
        }
        let (chain, source) = self.ordered(asking, destination)?;
        Ok(Routed {
            chain,
            request,
            changes,
            trace: RouteTrace {
                route: Arc::clone(&self.name),
                rules,
                processors: ran,
                because: source.name(),
            },
        })
    }

    /// A request as the rules look at it.
    pub(super) fn subject<'a>(
        &'a self,
        request: &'a Request,
        asking: &'a Asking<'_>,
        header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    ) -> Subject<'a> {
        let subject = Subject::new(request, asking.model)
            .at(wall_clock())
            .headers(header)
            .services(self);
        match asking.key {
            Some(key) => subject.key(key),
            None => subject,
        }
    }

    fn tell_failures(&self, ran: &[ProcessorTrace]) {
        for failed in ran.iter().filter(|processor| processor.error.is_some()) {
            tracing::warn!(
                route = &*self.name,
                processor = failed.position,
                reason = failed.error,
                "a processor failed; the request goes on"
            );
        }
    }

    /// The services in order: those of the destination first, then the route's.
    pub(super) fn ordered(
        &self,
        asking: &Asking<'_>,
        destination: Destination,
    ) -> Result<(Chain, PickSource)> {
        let mut chains = Vec::new();
        let mut source = PickSource::LeastBad;
        for turn in self.turns(asking, destination) {
            let (why, services) = turn.partition.order(&turn.pick);
            if chains.is_empty() {
                source = why;
            }
            for service in services {
                chains.push(service.chain(asking.model, asking.registry)?);
            }
        }
        let chain = Chain::join(&chains).ok_or_else(|| self.closed())?;
        Ok((chain, source))
    }

    /// Whose services are asked, in order: those of the matched rule if it has any
    /// in use, then the route's own.
    pub(super) fn turns(
        &self,
        asking: &Asking<'_>,
        destination: Destination,
    ) -> impl Iterator<Item = Turn<'_>> {
        let pick = Pick::at(now()).of(asking.session);
        let pick = match asking.binding {
            true => pick,
            false => pick.preview(),
        };
        let narrowed = match destination {
            Destination::Rule(rule) => self.narrowed.get(rule.0).map(|partition| Turn {
                rule: Some(rule),
                partition,
                pick,
            }),
            Destination::Route => None,
        };
        let narrowed = narrowed.filter(|turn| turn.partition.is_active());
        let base = Turn {
            rule: None,
            partition: &self.base,
            pick: match narrowed {
                // Only a second choice: it takes no turn and pins nobody.
                Some(_) => pick.preview(),
                None => pick,
            },
        };
        narrowed.into_iter().chain([base])
    }

    /// What clients ask for.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The specs of a rule's services.
    pub(crate) fn rule_services(&self, rule: RuleIndex) -> Vec<String> {
        let services = self.rules.services(rule).iter();
        services.map(|service| service.spec.clone()).collect()
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

    pub(super) fn closed(&self) -> Error {
        let text = format!("no service of the route `{}` is active", self.name);
        Error::new(ErrorKind::Local, text).with_status(503)
    }
}

/// What may change a request on the way.
pub(super) fn processors(asking: &Asking<'_>) -> Processors<Arc<Service>> {
    let mut processors = Processors::default();
    processors.register("proxy_vision", "enabled", Describe::new(asking));
    processors
}
