//! What would become of a request, without asking anybody: the dry run behind
//! `POST /api/explain` and `majordomo explain --request`.
//!
//! It goes the way of a real request (read, rules, processors, balance, shapes)
//! and stops before each step that would ask somebody: images that would be
//! described or fetched are only counted, no turn of a tactic is taken, no session
//! is pinned, and lists of models that are not there are not asked for.

mod dialect;
mod explanation;
mod names;
mod question;
mod targets;

use majordomo::{Chain, Error, ErrorKind, HeuristicEstimator, Request, Result, TokenEstimator};
use majordomo_vision::Scope;
use majordomo_wire::Incoming;

pub use explanation::{
    Candidate, DialectFrom, Explanation, LeftOut, Pick, ProcessorPlan, TargetPlan,
};
pub use question::Question;

use crate::fronts;
use crate::routes::{Asking, Rehearsed, Route};
use crate::state::{State, session};

impl State {
    /// Says what would become of a request.
    pub async fn explain(&self, question: &Question) -> Result<Explanation> {
        let front = dialect::choose(question)?;
        self.server.max_counts.check_body(&question.body)?;
        let incoming = front.codec().read_request(question.body.clone());
        let Incoming { model, request, .. } = incoming.map_err(|error| {
            let hint = "; name another with `path` or `dialect`";
            let guessed = front.from == DialectFrom::Guess;
            bad(format!(
                "as {} it cannot be read: {error}{}",
                front.dialect(),
                if guessed { hint } else { "" }
            ))
        })?;
        self.server.max_counts.check(&request)?;
        let key = self.known_key(question)?;
        let route = self.named_route(question)?;
        let asked = front.model.clone().or(model).or(question.route.clone());
        let Some(model) = asked.filter(|model| !model.is_empty()) else {
            return Err(bad("the request names no model"));
        };
        if let Some(key) = &key {
            key.allow(&model)?;
        }
        let passed_on = fronts::forwarded_headers(&question.headers);
        let request = request.client_headers(passed_on);
        let mut explanation = Explanation {
            dialect: front.dialect().to_string(),
            dialect_from: front.from,
            tokens: HeuristicEstimator.estimate(&request),
            images: request.image_count(),
            key: key.as_ref().map(|key| key.name().to_owned()),
            ..Explanation::about(&model)
        };
        let scope = Scope::of_key(explanation.key.as_deref().unwrap_or_default());
        let route = route.or_else(|| self.routes.find(&model));
        let (chain, request, describers) = match route {
            Some(route) => {
                let way = self.rehearsed(route, question, &mut explanation, request, &scope);
                let (chain, request) = way.await?;
                (chain, request, &route.describers)
            }
            None => {
                let chain = self.known_chain(&model)?;
                (chain, request, &self.routes.describers)
            }
        };
        let chain = self.seeing(chain, &request, describers, scope);
        let previews = chain.preview(&request).await;
        explanation.targets = previews
            .into_iter()
            .map(|preview| self.target_plan(preview))
            .collect();
        Ok(explanation)
    }

    /// The way through a route, written into the explanation.
    async fn rehearsed(
        &self,
        route: &Route,
        question: &Question,
        explanation: &mut Explanation,
        request: Request,
        scope: &Scope,
    ) -> Result<(Chain, Request)> {
        let named = question.headers.get("x-session-id");
        let named = named.and_then(|value| value.to_str().ok());
        let key = explanation.key.as_deref();
        let asking = Asking {
            model: &explanation.model,
            key,
            session: session(&request, named, key),
            headers: &question.headers,
            scope,
            vision: &self.vision,
            registry: &self.registry,
            traced: false,
            binding: false,
        };
        let Rehearsed {
            verdict,
            applied,
            request,
            candidates,
            left_out,
            source,
            tactic,
            chain,
        } = route.rehearse(&asking, request).await?;
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
        explanation.pick = candidates.first().map(|first| Pick {
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

fn bad(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Provider, text.into()).with_status(400)
}
