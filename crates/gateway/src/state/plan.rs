//! Plans a request: the chain that serves it, and the request as that chain gets it.

use std::sync::Arc;

use majordomo::llm::{Change, TraceHeaders};
use majordomo::{Chain, Request};
use majordomo_balance::{SessionHints, SessionKey};
use majordomo_vision::Scope;

use super::GatewayState;
use crate::admitted::AdmittedRequest;
use crate::propagation::trace_headers;
use crate::refusal::Result;
use crate::routes::{RouteTrace, Routed, RoutingContext};

/// A request ready to be served, and the chain that serves it.
pub(crate) struct RequestPlan {
    pub(crate) chain: Chain,
    pub(crate) request: Request,
    /// Changes made before any target was chosen.
    pub(crate) changes: Vec<Change>,
    /// How it was routed, if it has a route.
    pub(crate) trace: Option<RouteTrace>,
}

impl GatewayState {
    /// The headers that carry the request's trace and id to providers.
    pub(crate) fn trace_headers(&self, admitted: &AdmittedRequest) -> Option<Arc<TraceHeaders>> {
        trace_headers(&admitted.headers, &admitted.exchange, self.traces_requests)
    }

    /// Resolves the model, applies its route and returns the chain.
    pub(crate) async fn plan(
        &self,
        model: &str,
        request: Request,
        admitted: &AdmittedRequest,
        scope: Scope,
    ) -> Result<RequestPlan> {
        self.plan_with(model, request, admitted, scope, true).await
    }

    /// Like [`plan`](Self::plan), for a count of tokens: the request as its destination would
    /// get it, predicted without calling a describer.
    pub(crate) async fn plan_count(
        &self,
        model: &str,
        request: Request,
        admitted: &AdmittedRequest,
    ) -> Result<RequestPlan> {
        let key = admitted.key.as_ref().map(|key| key.name());
        let scope = Scope::of_count(key.unwrap_or_default());
        self.plan_with(model, request, admitted, scope, false).await
    }

    async fn plan_with(
        &self,
        model: &str,
        request: Request,
        admitted: &AdmittedRequest,
        scope: Scope,
        binding: bool,
    ) -> Result<RequestPlan> {
        let Some(route) = self.routes.find(model) else {
            let chain = self.unrouted_chain(model).await?;
            return Ok(RequestPlan {
                chain: self.with_descriptions(chain, &request, &self.routes.describers, scope),
                request,
                changes: Vec::new(),
                trace: None,
            });
        };
        let context = RoutingContext {
            binding,
            ..self.routing_context(model, &request, admitted, &scope)
        };
        let Routed {
            chain,
            request,
            changes,
            trace,
        } = route.route(&context, request).await?;
        let request = request.auto_cache(route.auto_cache);
        Ok(RequestPlan {
            chain: self.with_descriptions(chain, &request, &route.describers, scope),
            request,
            changes,
            trace: Some(trace),
        })
    }

    /// The routing context of a request.
    fn routing_context<'a>(
        &'a self,
        model: &'a str,
        request: &Request,
        admitted: &'a AdmittedRequest,
        scope: &'a Scope,
    ) -> RoutingContext<'a> {
        let key = admitted.key.as_ref().map(|key| key.name());
        let named = admitted.headers.get("x-session-id");
        let named = named.and_then(|value| value.to_str().ok());
        RoutingContext {
            model,
            key,
            session: session(request, named, key),
            headers: &admitted.headers,
            scope,
            vision: &self.vision,
            registry: &self.registry,
            traced: self.server.traces > 0,
            binding: true,
        }
    }

    /// Resolves requests that are not conversations.
    pub(crate) async fn plan_unprocessed(
        &self,
        model: &str,
        request: &Request,
        admitted: &AdmittedRequest,
    ) -> Result<(Chain, Option<RouteTrace>)> {
        let Some(route) = self.routes.find(model) else {
            return Ok((self.unrouted_chain(model).await?, None));
        };
        let key = admitted.key.as_ref().map(|key| key.name());
        let scope = Scope::of_key(key.unwrap_or_default());
        let context = self.routing_context(model, request, admitted, &scope);
        let (chain, trace) = route.route_unprocessed(&context, request)?;
        Ok((chain, Some(trace)))
    }
}

/// The session that a request belongs to.
pub(crate) fn session(
    request: &Request,
    header: Option<&str>,
    key: Option<&str>,
) -> Option<SessionKey> {
    SessionKey::of(&SessionHints {
        user_id: request.prompt().user.as_deref(),
        prompt_cache_key: request.prompt().cache_key.as_deref(),
        session_header: header,
        key_name: key,
    })
}
