//! One route: its rules and partitions.

use std::sync::Arc;

use http::{Extensions, HeaderMap};
use majordomo::llm::Change;
use majordomo::{Chain, Registry, Request};
use majordomo_balance::{Pick, PickSource, PoolConfig, SessionKey};
use majordomo_rules::Glob;
use majordomo_rules::{
    Destination, Notes, ProcessorTrace, Processors, RuleIndex, RuleSet, RuleSpec, Subject, apply,
    dry_run,
};
use majordomo_vision::{Describers, Scope, Vision};

use super::conditions;
use super::partition::{Partition, RouteService, now};
use crate::clock::wall_clock;
use crate::config::{self, Diagnostic};
use crate::processors::DescribeContext;
use crate::refusal::{RequestRefusal, Result};

/// A model name or pattern, with its rules and partitions.
pub(crate) struct Route {
    pub(super) name: Arc<str>,
    pub(super) pattern: Glob,
    pub(super) base: Partition,
    pub(super) rules: RuleSet,
    /// One per rule.
    pub(super) rule_partitions: Vec<Partition>,
    pub(crate) describers: Arc<Describers>,
    /// Whether to set prompt-cache breakpoints; `None` leaves it to the providers.
    pub(crate) auto_cache: Option<bool>,
}

/// The context that routing uses besides the request itself.
pub(crate) struct RoutingContext<'a> {
    pub(crate) model: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) session: Option<SessionKey>,
    pub(crate) scope: &'a Scope,
    pub(crate) vision: &'a Arc<Vision>,
    pub(crate) registry: &'a Registry,
    /// Whether a trace is recorded.
    pub(crate) traced: bool,
    /// Whether the request is served: the pick takes a turn and pins the session, and
    /// processors call services. Otherwise, these steps are only predicted.
    pub(crate) binding: bool,
}

impl RoutingContext<'_> {
    /// Values that processors find by their type.
    pub(super) fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(DescribeContext {
            vision: Arc::clone(self.vision),
            scope: self.scope.clone(),
        });
        extensions
    }
}

/// A routed request and the chain that serves it.
pub(crate) struct Routed {
    pub(crate) chain: Chain,
    pub(crate) request: Request,
    pub(crate) changes: Vec<Change>,
    pub(crate) trace: RouteTrace,
}

/// Why a request was routed as it was. Does not quote the request, so it may be kept.
#[derive(Debug)]
pub(crate) struct RouteTrace {
    /// The route's name.
    pub(crate) route: Arc<str>,
    /// The name of the rule that matched.
    pub(crate) rule: Option<Box<str>>,
    /// How its rules were evaluated; `None` without rules or without tracing.
    pub(crate) rules: Option<Notes>,
    /// The processors that ran.
    pub(crate) processors: Vec<ProcessorTrace>,
    /// Why the first service comes first.
    pub(crate) because: &'static str,
}

/// A partition to pick from, and the way to pick.
pub(super) struct PartitionPick<'a> {
    /// The rule it belongs to; `None` for the route itself.
    pub(super) rule: Option<RuleIndex>,
    pub(super) partition: &'a Partition,
    pub(super) pick: Pick,
}

impl Route {
    pub(super) fn new(
        route: &config::RouteEntry,
        registry: &Registry,
        processors: &Processors,
        by_hash: bool,
        earlier: Option<&Self>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let pool_config = |services: &[config::ServiceEntry]| {
            let balance = route.balance_of(services);
            PoolConfig::default()
                .with_tactic(balance.tactic)
                .with_within(balance.within)
                .with_affinity(route.affinity)
                .with_sessions_by_hash(by_hash)
        };
        let known = earlier.map(|route| &route.base.pool);
        let base = Partition::new(
            &route.services,
            pool_config(&route.services),
            registry,
            known,
            diagnostics,
        );
        let mut rule_partitions = Vec::with_capacity(route.smart.len());
        for (index, rule) in route.smart.iter().enumerate() {
            let known = earlier.and_then(|route| route.rule_partitions.get(index));
            let known = known.map(|partition| &partition.pool);
            rule_partitions.push(Partition::new(
                &rule.services,
                pool_config(&rule.services),
                registry,
                known,
                diagnostics,
            ));
        }
        let specs = route.smart.iter().map(|rule| RuleSpec {
            name: rule.name.clone(),
            when: rule.when.iter().map(conditions::condition_spec).collect(),
            services: rule
                .services
                .iter()
                .map(|it| it.spec.text.clone())
                .collect(),
        });
        let compiled = RuleSet::compile_with(specs.collect(), processors);
        let rules = compiled.unwrap_or_else(|errors| {
            let errors = errors.iter();
            diagnostics
                .extend(errors.map(|error| conditions::rule_diagnostic(&route.smart, error)));
            RuleSet::default()
        });
        Self {
            name: route.model.as_str().into(),
            pattern: Glob::new(&route.model),
            base,
            rules,
            rule_partitions,
            describers: Arc::default(),
            auto_cache: route.auto_cache,
        }
    }

    /// Routes a request: rules, processors, balancing. Without `binding`, processors call
    /// no service.
    pub(crate) async fn route(
        &self,
        context: &RoutingContext<'_>,
        request: Request,
    ) -> Result<Routed> {
        let seen = request.clone();
        let mut request = request;
        let mut changes = Vec::new();
        let mut destination = Destination::Route;
        let mut rule = None;
        let mut rules = None;
        let mut ran = Vec::new();
        if !self.rule_partitions.is_empty() {
            let header = |name: &str| context.headers.get(name)?.to_str().ok();
            let subject = self.subject(&seen, context, &header);
            let matched = if context.traced {
                let (matched, notes) = self.rules.evaluate_with_notes(&subject);
                rules = Some(notes);
                matched
            } else {
                self.rules.evaluate(&subject)
            };
            if let Some(index) = matched {
                rule = Some(self.rules.name(index).into());
                let upstreams = |rule| self.upstreams(rule, context);
                let extensions = context.extensions();
                let (rules, changed) = (&self.rules, &mut request);
                let applied = match context.binding {
                    true => apply(rules, matched, &subject, changed, upstreams, &extensions).await,
                    false => {
                        dry_run(rules, matched, &subject, changed, upstreams, &extensions).await
                    }
                }?;
                destination = applied.destination;
                changes = applied.changes;
                ran = applied.processors;
                self.log_failures(&ran);
            }
        }
        let (chain, source) = self.ordered(context, destination)?;
        Ok(Routed {
            chain,
            request,
            changes,
            trace: RouteTrace {
                route: Arc::clone(&self.name),
                rule,
                rules,
                processors: ran,
                because: source.name(),
            },
        })
    }

    /// The active services of a rule, as upstreams of its processors.
    pub(super) fn upstreams(&self, rule: RuleIndex, context: &RoutingContext<'_>) -> Vec<Chain> {
        let partition = self.rule_partitions.get(rule.0);
        let services = partition.into_iter().flat_map(|it| &it.services);
        let active = services.filter(|service| service.active);
        active
            .filter_map(|service| service.chain(context.model, context.registry).ok())
            .collect()
    }

    /// The request as seen by rules.
    pub(super) fn subject<'a>(
        &'a self,
        request: &'a Request,
        context: &'a RoutingContext<'_>,
        header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    ) -> Subject<'a> {
        let subject = Subject::new(request, context.model)
            .at(wall_clock())
            .headers(header)
            .services(self);
        match context.key {
            Some(key) => subject.key(key),
            None => subject,
        }
    }

    fn log_failures(&self, ran: &[ProcessorTrace]) {
        for failed in ran.iter().filter(|processor| processor.error.is_some()) {
            tracing::warn!(
                route = &*self.name,
                processor = failed.position,
                reason = failed.error,
                "a processor failed; the request continues without it"
            );
        }
    }

    /// Orders the services: those of the destination first, then the route's. The chain skips
    /// what the balancer left out, such as a benched service, and names it if all else fails.
    pub(super) fn ordered(
        &self,
        context: &RoutingContext<'_>,
        destination: Destination,
    ) -> Result<(Chain, PickSource)> {
        let mut chains = Vec::new();
        let mut left_out = Vec::new();
        let mut source = PickSource::LeastBad;
        for PartitionPick {
            partition, pick, ..
        } in self.partition_picks(context, destination)
        {
            let (why, services) = partition.order(&pick);
            if chains.is_empty() {
                source = why;
            }
            let services: Vec<&Arc<RouteService>> = services.collect();
            for service in &services {
                chains.push(service.chain(context.model, context.registry)?);
            }
            let picked = |service| services.iter().any(|known| Arc::ptr_eq(known, service));
            let active = partition.services.iter().filter(|service| service.active);
            left_out.extend(active.filter(|service| !picked(service)));
        }
        for service in left_out {
            chains.push(service.chain(context.model, context.registry)?);
        }
        let chain = Chain::join(&chains).ok_or_else(|| self.no_active_service())?;
        Ok((chain, source))
    }

    /// The partitions to pick from, in order: the matched rule's if it has an active
    /// service, then the route's.
    pub(super) fn partition_picks(
        &self,
        context: &RoutingContext<'_>,
        destination: Destination,
    ) -> impl Iterator<Item = PartitionPick<'_>> {
        let pick = Pick::at(now()).of(context.session);
        let pick = match context.binding {
            true => pick,
            false => pick.preview(),
        };
        let rule_partitions = match destination {
            Destination::Rule(rule) => {
                self.rule_partitions
                    .get(rule.0)
                    .map(|partition| PartitionPick {
                        rule: Some(rule),
                        partition,
                        pick,
                    })
            }
            Destination::Route => None,
        };
        let rule_partitions =
            rule_partitions.filter(|picked_from| picked_from.partition.is_active());
        let base = PartitionPick {
            rule: None,
            partition: &self.base,
            pick: match rule_partitions {
                // Only a fallback: it takes no turn and pins no session.
                Some(_) => pick.preview(),
                None => pick,
            },
        };
        rule_partitions.into_iter().chain([base])
    }

    /// The route's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The specs of a rule's services.
    pub(crate) fn rule_services(&self, rule: RuleIndex) -> Vec<String> {
        let partition = self.rule_partitions.get(rule.0);
        let services = partition.into_iter().flat_map(|it| &it.services);
        services.map(|service| service.spec.clone()).collect()
    }

    /// The active services by tier and then in file order, for uses other than serving a
    /// request.
    pub(crate) fn declared_chain(&self, requested: &str, registry: &Registry) -> Result<Chain> {
        let active = self.base.services.iter().filter(|service| service.active);
        let mut active: Vec<_> = active.collect();
        active.sort_by_key(|service| service.tier);
        let chains: majordomo::Result<Vec<Chain>> = active
            .into_iter()
            .map(|service| service.chain(requested, registry))
            .collect();
        Ok(Chain::join(&chains?).ok_or_else(|| self.no_active_service())?)
    }

    /// Every service, including those of rules.
    pub(super) fn services(&self) -> impl Iterator<Item = &Arc<RouteService>> {
        let rule_partitions = self.rule_partitions.iter().flat_map(|it| &it.services);
        self.base.services.iter().chain(rule_partitions)
    }

    pub(super) fn no_active_service(&self) -> RequestRefusal {
        let text = format!("no service of the route `{}` is active", self.name);
        RequestRefusal::new(503, text)
    }
}
