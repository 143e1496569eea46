//! Serves a request of the operator's page like a client's: in the name of a key, with the
//! key's limits, charged to the key.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};
use majordomo::llm::AttemptLog;
use majordomo_limits::Permit;

use super::admission::flow_of;
use super::context::ServerContext;
use super::dispatch::{catch_panic, handle, limit, to_capture, with_capture};
use super::endpoints::kind_of;
use crate::admitted::AdmittedRequest;
use crate::clock::wall_clock;
use crate::exchange::{Arrival, Exchange};
use crate::fronts::{self, Endpoint, EndpointLabels};
use crate::heavy_lane::LaneHandle;
use crate::identity::CallerIdentity;
use crate::keys::ClientKey;
use crate::quota::CallerLimits;
use crate::request_id::request_id;
use crate::respond::refuse;
use crate::response_body::Body;
use crate::state::GatewayState;

/// A request that the page sends for a key.
pub(crate) struct InsideRequest {
    /// The path of a client's endpoint.
    pub(crate) uri: Uri,
    pub(crate) body: Bytes,
    /// The key that is charged; `None` without keys.
    pub(crate) key: Option<Arc<ClientKey>>,
    /// Marks the request in reports, such as `via=playground`.
    pub(crate) tag: Arc<str>,
}

/// Serves a request. If the key opted in, the response holds the writer of its capture. The permits must live until the response is sent. `None` if the path
/// generates nothing.
pub(crate) async fn serve_inside(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    request: InsideRequest,
) -> Option<(Response<Body>, Vec<Permit>)> {
    let headers = HeaderMap::new();
    let endpoint = fronts::endpoint(&Method::POST, &request.uri, &headers);
    let Endpoint::Generate { front, .. } = endpoint else {
        return None;
    };
    let arrival = Arrival {
        id: request_id(wall_clock()),
        front,
        kind: kind_of(&endpoint),
        endpoint: EndpointLabels::of(&Method::POST, &endpoint),
        client: Some("the page"),
    };
    let mut exchange = Exchange::new(arrival, context.sinks());
    let key = request.key.as_deref();
    let caller = key.map(CallerIdentity::of_key).unwrap_or_default();
    exchange.set_caller(caller.tagged(request.tag));
    let flow = flow_of(key, context.address().ip());
    let limits = CallerLimits::of(
        &context.quotas(),
        &state.limits,
        key,
        exchange.caller(),
        flow,
    );
    let seats = match limit(limits, &mut exchange).await {
        Ok(seats) => seats,
        Err((caller, refusal)) => {
            let log = AttemptLog::default();
            return Some((refuse(front, exchange, &caller, &refusal, log), Vec::new()));
        }
    };
    let captured = match to_capture(key, exchange.id(), &request.uri) {
        Some(sent) => context.capture.keep(sent, &request.body).await,
        None => None,
    };
    exchange.set_capture(captured.clone());
    let heavy = LaneHandle::new(&context.lane, flow, &request.body, context.limits.heavy);
    let admitted = AdmittedRequest {
        headers,
        body: request.body,
        key: request.key,
        exchange,
        heavy,
    };
    let response = catch_panic(front, handle(state, endpoint, admitted)).await;
    Some((with_capture(response, captured), seats))
}
