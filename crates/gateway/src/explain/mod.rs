//! What would become of a request, without asking anybody: the dry run behind
//! `POST /api/explain` and `majordomo explain --request`.
//!
//! It goes the way of a real request (read, rules, processors, balance, shapes)
//! and stops before each step that would ask somebody: images that would be
//! described or fetched are only counted, no turn of a tactic is taken, no session
//! is pinned, and lists of models that are not there are not asked for.

mod dialect;
mod explanation;
mod question;

use majordomo::{
    Change, Error, ErrorKind, PlainEstimate, Preview, Request, Result, TokenEstimate, did_you_mean,
    nearest,
};
use majordomo_wire::{Incoming, Outgoing, Protocol};

pub use explanation::{
    Candidate, DialectFrom, Explanation, LeftOut, Pick, ProcessorPlan, TargetPlan,
};
pub use question::Question;

use crate::fronts;
use crate::routes::{Asking, Rehearsed, Route};
use crate::state::{State, session};
use crate::vision::Scope;

impl State {
    /// Says what would become of a request.
    pub async fn explain(&self, question: &Question) -> Result<Explanation> {
        let front = dialect::choose(question)?;
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
        let key = self.known_key(question)?;
        let route = self.named_route(question)?;
        let asked = front.model.clone().or(model).or(question.route.clone());
        let Some(model) = asked.filter(|model| !model.is_empty()) else {
            return Err(bad("the request names no model"));
        };
        if let Some(key) = &key {
            key.allow(&model)?;
        }
        let passed_on = fronts::passed_on(&question.headers);
        let request = request.client_headers(passed_on);
        let mut explanation = Explanation {
            dialect: front.dialect().to_string(),
            dialect_from: front.from,
            tokens: PlainEstimate.estimate(&request),
            images: request.image_count(),
            key: key.as_ref().map(|key| key.name().to_owned()),
            ..Explanation::about(&model)
        };
        let scope = Scope::of_key(explanation.key.as_deref().unwrap_or_default());
        let route = route.or_else(|| self.routes.find(&model));
        let (chain, request, describers) = match route {
            Some(route) => {
                let rehearsed = self
                    .rehearsed(route, question, &mut explanation, request, &scope)
                    .await?;
                (rehearsed.0, rehearsed.1, &route.describers)
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
    ) -> Result<(majordomo::Chain, Request)> {
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

    fn target_plan(&self, preview: Preview) -> TargetPlan {
        let name = preview.target;
        let health = self.registry.health().snapshot();
        let mut benched = health.into_iter().filter(|status| {
            status.until_usable.is_some()
                && [name.as_str(), name.provider()].contains(&&*status.subject)
        });
        let benched = benched.next();
        let provider = self.registry.provider(name.provider()).ok();
        let unready = provider.and_then(|provider| provider.ready().err());
        let (changes, passed_over) = match preview.shaped {
            Ok(shaped) => {
                let mut changes = shaped.changes;
                changes.extend(losses(
                    preview.dialect.as_ref(),
                    &shaped.request,
                    name.model(),
                ));
                (changes, None)
            }
            Err(error) => (Vec::new(), Some(error.message().to_owned())),
        };
        TargetPlan {
            target: name.to_string(),
            dialect: preview.dialect.map(|dialect| dialect.to_string()),
            changes: changes.iter().map(Change::to_string).collect(),
            passed_over: passed_over.or(unready.map(|error| error.reason())),
            benched: benched.map(|status| status.reason.unwrap_or_default()),
        }
    }

    fn known_key(&self, question: &Question) -> Result<Option<std::sync::Arc<crate::keys::Key>>> {
        let Some(name) = &question.key else {
            return Ok(None);
        };
        let known = self.keys.named(name);
        known.map(Some).ok_or_else(|| {
            let near = nearest(name, self.keys.names());
            bad(format!("no key is called `{name}`{}", did_you_mean(near)))
        })
    }

    fn named_route(&self, question: &Question) -> Result<Option<&Route>> {
        let Some(name) = &question.route else {
            return Ok(None);
        };
        let written = self.routes.find_exactly(name);
        let found = written.or_else(|| self.routes.find(name));
        found.map(Some).ok_or_else(|| {
            let near = nearest(name, self.routes.names());
            let text = format!("no route is called `{name}`{}", did_you_mean(near));
            Error::new(ErrorKind::ModelNotFound, text)
        })
    }

    /// What a name stands for, as far as that is known without asking.
    fn known_chain(&self, model: &str) -> Result<majordomo::Chain> {
        let problem = match self.registry.parse(model) {
            Ok(chain) => return Ok(chain),
            Err(problem) => problem,
        };
        let listed = self.catalogue.known(model);
        if let Some(chain) = listed.and_then(|spec| self.registry.parse(&spec).ok()) {
            return Ok(chain);
        }
        let text = format!(
            "`{model}` is no route, no alias and no spec, and a dry run asks no provider for its list of models ({problem})"
        );
        Err(Error::new(ErrorKind::ModelNotFound, text))
    }
}

/// What the target's dialect cannot say.
fn losses(dialect: Option<&majordomo::Dialect>, request: &Request, model: &str) -> Vec<Change> {
    let Some(protocol) = dialect.and_then(Protocol::of) else {
        return Vec::new();
    };
    let written = protocol
        .codec()
        .write_request(request, &Outgoing::new(model));
    written.losses.into_iter().map(Change::from).collect()
}

fn bad(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Provider, text.into()).with_status(400)
}
