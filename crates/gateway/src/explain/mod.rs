//! Dry run of a request without upstream calls: `POST /api/explain` and `majordomo
//! explain --request`.
//!
//! Takes the path of a real request (decode, rules, processors, balancing, shapes) and
//! stops before each step that would call an upstream: images that would be described or
//! fetched are only counted, no turn is taken, no session is pinned, and missing model
//! lists are not requested.
//!
//! May use `fronts`, `keys`, `refusal`, `routes` and `state`.

mod dialect;
mod explanation;
mod names;
mod request;
mod targets;

use majordomo::chain::Preview;
use majordomo::llm::{HeuristicEstimator, TokenEstimator};
use majordomo::{Chain, Request};
use majordomo_vision::{Scope, UsedDescriptions};
use majordomo_wire::Incoming;

pub use explanation::{
    Candidate, DialectFrom, ExcludedService, Explanation, PickedService, ProcessorPlan, TargetPlan,
};
pub use request::ExplainRequest;

use crate::fronts;
use crate::refusal::{RequestError, RequestRefusal, Result};
use crate::routes::{DryRun, Route, RoutingContext};
use crate::state::{GatewayState, session};

/// What is known of a request that was served.
#[derive(Clone, Copy)]
pub(crate) struct PastRequest<'a> {
    /// The name of its key, which may be gone by now.
    pub(crate) key: &'a str,
    /// The descriptions by which its images were replaced.
    pub(crate) used: Option<&'a UsedDescriptions>,
}

impl GatewayState {
    /// Explains how a request would be handled.
    pub async fn explain(&self, input: &ExplainRequest) -> Result<Explanation> {
        let (mut explanation, _, previews) = self.dry_run(input, None).await?;
        let plans = previews
            .into_iter()
            .map(|preview| self.target_plan(preview));
        explanation.targets = plans.collect();
        Ok(explanation)
    }

    /// A past request, and what each target would receive of it.
    pub(crate) async fn preview(
        &self,
        input: &ExplainRequest,
        past: PastRequest<'_>,
    ) -> Result<(Request, Vec<Preview>)> {
        let (_, request, previews) = self.dry_run(input, Some(past)).await?;
        Ok((request, previews))
    }

    async fn dry_run(
        &self,
        input: &ExplainRequest,
        past: Option<PastRequest<'_>>,
    ) -> Result<(Explanation, Request, Vec<Preview>)> {
        let front = dialect::choose(input)?;
        self.server.max_counts.check_body(&input.body)?;
        let incoming = front.codec().read_request(input.body.clone());
        let Incoming { model, request, .. } = incoming.map_err(|error| {
            let hint = "; specify another with `path` or `dialect`";
            let guessed = front.from == DialectFrom::Guess;
            bad(format!(
                "it cannot be decoded as {}: {error}{}",
                front.dialect(),
                if guessed { hint } else { "" }
            ))
        })?;
        self.server.max_counts.check(&request)?;
        let key = self.known_key(input)?;
        let route = self.named_route(input)?;
        let requested = front.model.clone().or(model).or(input.route.clone());
        let Some(model) = requested.filter(|model| !model.is_empty()) else {
            return Err(bad("the request names no model"));
        };
        if let Some(key) = &key {
            key.allow(&model)?;
        }
        let passed_on = fronts::forwarded_headers(&input.headers);
        let request = request.client_headers(passed_on);
        let mut explanation = Explanation {
            dialect: front.dialect().to_string(),
            dialect_from: front.from,
            tokens: HeuristicEstimator.estimate(&request),
            images: request.prompt().image_count(),
            key: match past {
                Some(past) => Some(past.key.to_owned()),
                None => key.as_ref().map(|key| key.name().to_owned()),
            },
            ..Explanation::about(&model)
        };
        let original = request.clone();
        let name = explanation.key.as_deref().unwrap_or_default();
        let scope = match past.and_then(|past| past.used) {
            Some(used) => Scope::of_past(name, used),
            None => Scope::of_key(name),
        };
        let route = route.or_else(|| self.routes.find(&model));
        let (chain, request, describers) = match route {
            Some(route) => {
                let dry_run = self.dry_run_route(route, input, &mut explanation, request, &scope);
                let (chain, request) = dry_run.await?;
                (chain, request, &route.describers)
            }
            None => {
                let chain = self.known_chain(&model)?;
                (chain, request, &self.routes.describers)
            }
        };
        let chain = self.with_descriptions(chain, &request, describers, scope);
        let previews = chain.preview(&request).await;
        Ok((explanation, original, previews))
    }

    /// Runs the route's dry run and adds its result to the explanation.
    async fn dry_run_route(
        &self,
        route: &Route,
        input: &ExplainRequest,
        explanation: &mut Explanation,
        request: Request,
        scope: &Scope,
    ) -> Result<(Chain, Request)> {
        let named = input.headers.get("x-session-id");
        let named = named.and_then(|value| value.to_str().ok());
        let key = explanation.key.as_deref();
        let context = RoutingContext {
            model: &explanation.model,
            key,
            session: session(&request, named, key),
            headers: &input.headers,
            scope,
            vision: &self.vision,
            registry: &self.registry,
            traced: false,
            binding: false,
        };
        let DryRun {
            verdict,
            applied,
            request,
            candidates,
            left_out,
            source,
            tactic,
            chain,
        } = route.dry_run(&context, request).await?;
        let describers = verdict
            .matched
            .map(|rule| route.rule_services(rule))
            .unwrap_or_default();
        let processors = applied.processors.into_iter();
        explanation.processors = processors
            .map(|ran| ProcessorPlan {
                position: ran.position,
                op: ran.op,
                services: describers.clone(),
                changes: ran.changes,
            })
            .collect();
        explanation.pick = candidates.first().map(|first| PickedService {
            service: first.service.clone(),
            because: source.name(),
            tactic,
        });
        explanation.route = Some(route.name().to_owned());
        explanation.rules = verdict.trace.rules;
        explanation.candidates = candidates;
        explanation.left_out = left_out;
        Ok((chain, request))
    }
}

fn bad(text: impl AsRef<str>) -> RequestError {
    RequestRefusal::new(400, text).into()
}
