//! Dispatches one request: trust boundary, authentication, admission, handler.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use http::header::{CONTENT_TYPE, HOST};
use http::request::Parts;
use http::{Method, Request, Response, Uri, Version};
use hyper::body::{Body as _, Incoming};
use majordomo::llm::AttemptLog;
use majordomo_limits::{Permit, Refusal};

use super::admission::{RequestPermit, flow_of};
use super::admit_body::admit_body;
use super::admit_caller::admit_caller;
use super::body_reader::{Pace, check_body_headers};
use super::context::ServerContext;
use super::discard::{discard, sends_anyway};
use super::endpoints::{front_of, kind_of};
use super::guarded_body::{INTERNAL_ERROR, shutting_down};
use super::head::{RejectedHead, TOO_LONG};
use super::key_status::key_status;
use super::plain_responses::{preflight_response, without_dialect};
use crate::admitted::AdmittedRequest;
use crate::capture::{CaptureWriter, SentRequest};
use crate::client_program::client_program;
use crate::clip::clip;
use crate::clock::wall_clock;
use crate::exchange::{Arrival, Exchange};
use crate::fronts::{self, Endpoint, EndpointLabels, Front};
use crate::handlers;
use crate::heavy_lane::LaneHandle;
use crate::identity::CallerIdentity;
use crate::keys::{ClientKey, ClientKeys};
use crate::propagation::client_request_id;
use crate::quota::CallerLimits;
use crate::record::{RequestKind, TraceParent, unix_millis};
use crate::refusal::RequestRefusal;
use crate::respond::{error_response, fail, refuse};
use crate::response_body::Body;
use crate::state::GatewayState;
use crate::trust::{Boundary, BoundaryRefusal, Caller, add_cors_headers, authenticate_client};

/// Longest path with query.
const LONGEST_URI: usize = 8 * 1024;
/// Longest path that is quoted in an error.
const LONGEST_SHOWN_PATH: usize = 200;

/// Serves one request. The permit must live until the response is sent.
pub(super) async fn dispatch(
    context: &Arc<ServerContext>,
    from: IpAddr,
    rejected: Option<RejectedHead>,
    request: Request<Incoming>,
) -> (Response<Body>, Option<RequestPermit>) {
    let state = context.state.load_full();
    let origins = &state.server.origins;
    let keys = context.keys();
    let boundary = Boundary::Clients {
        keyless: keys.is_keyless(),
        origins,
    };
    let caller = boundary.check(request.method(), request.uri(), request.headers());
    if let (Ok(Caller::Preflight(preflight)), None) = (&caller, rejected) {
        return (
            preflight_response(preflight.clone().response_headers()),
            None,
        );
    }
    let outside = caller.as_ref().err();
    let (head, body) = request.into_parts();
    // The end of a body with a bad head is unknown.
    let sends_anyway = rejected.is_none() && sends_anyway(&head);
    let mut body = Some(body);
    let caller_keys = (&*keys, from);
    let admitted = admit(
        context,
        &state,
        caller_keys,
        rejected,
        outside,
        head,
        &mut body,
    );
    let (mut response, permit) = admitted.await;
    if let Some(unread) = body.filter(|_| sends_anyway) {
        discard(unread, &context.stopping);
    }
    add_cors_headers(&caller, origins, response.headers_mut());
    (response, permit)
}

/// Rejects a request with a bad head, from outside the trust boundary or without a
/// valid key; serves any other. Leaves what is not read of the body.
async fn admit(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    (keys, from): (&ClientKeys, IpAddr),
    rejected: Option<RejectedHead>,
    outside: Option<&BoundaryRefusal>,
    head: Parts,
    body: &mut Option<Incoming>,
) -> (Response<Body>, Option<RequestPermit>) {
    let endpoint = fronts::endpoint(&head.method, &head.uri, &head.headers);
    let front = front_of(&endpoint);
    let Some(front) = front.or(rejected.map(|_| Front::Chat)) else {
        return (without_dialect(context, &endpoint, outside), None);
    };
    let arrival = Arrival {
        id: crate::request_id::request_id(crate::clock::wall_clock()),
        front,
        kind: kind_of(&endpoint),
        endpoint: EndpointLabels::of(&head.method, &endpoint),
        client: client_program(&head.headers),
    };
    let mut exchange = Exchange::new(arrival, context.sinks());
    exchange.set_trace_parent(|| TraceParent::of(&head.headers));
    exchange.set_client_request_id(client_request_id(&head.headers));
    if let Some(RejectedHead { status, text }) = rejected {
        let error = RequestRefusal::new(status, text);
        return (fail(front, exchange, error), None);
    }
    if let Some(refusal) = outside {
        return (fail(front, exchange, refusal.refusal()), None);
    }
    let key = match authenticate_client(
        keys,
        &context.auth_throttle,
        from,
        &head.headers,
        &head.uri,
        unix_millis(wall_clock()),
    ) {
        Ok(key) => key,
        Err(error) => return (fail(front, exchange, error), None),
    };
    match CallerIdentity::read(key.as_deref(), &head.headers) {
        Ok(caller) => exchange.set_caller(caller),
        Err(error) => return (fail(front, exchange, error), None),
    }
    let flow = flow_of(key.as_deref(), from);
    let limits = CallerLimits::of(
        &context.quotas(),
        &state.limits,
        key.as_deref(),
        exchange.caller(),
        flow,
    );
    if let Endpoint::Key(_) = endpoint {
        let status = key_status(context, limits.as_deref(), key.as_deref(), exchange);
        return (status.await, None);
    }
    let announced = body.as_ref().map_or(0, |body| body.size_hint().lower());
    if let Err(error) = check_body_headers(&head.headers, announced, state.server.max_body) {
        return (fail(front, exchange, error), None);
    }
    let seats = match limit(limits, &mut exchange).await {
        Ok(seats) => seats,
        Err((caller, refusal)) => {
            let log = AttemptLog::default();
            return (refuse(front, exchange, &caller, &refusal, log), None);
        }
    };
    let admission = context.admission();
    let max_body = state.server.max_body;
    let pace = Pace {
        limits: &context.limits,
        timeout: state.server.body_timeout,
    };
    let Some(unread) = body.take() else {
        let error = RequestRefusal::new(500, INTERNAL_ERROR);
        return (fail(front, exchange, error), None);
    };
    let (mut permit, body) = match admit_body(&admission, flow, unread, max_body, pace).await {
        Ok(entered) => entered,
        Err((error, unread)) => {
            *body = unread;
            return (fail(front, exchange, error), None);
        }
    };
    permit.keep(seats);
    let captured = match to_capture(key.as_deref(), exchange.id(), &head.uri) {
        // Boxed: other requests need no room for it.
        Some(sent) => Box::pin(context.capture.keep(sent, &body)).await,
        None => None,
    };
    exchange.set_capture(captured.clone());
    let heavy = LaneHandle::new(&context.lane, flow, &body, context.limits.heavy);
    let admitted = AdmittedRequest {
        headers: head.headers,
        body,
        key,
        exchange,
        heavy,
    };
    if admitted.heavy.runs_on_lane() {
        let state = Arc::clone(state);
        let served = serve_heavy(context, front, state, endpoint, admitted, permit);
        let (response, permit) = served.await;
        return (with_capture(response, captured), permit);
    }
    // Pinned in place: the future is too large to move.
    let work = pin!(catch_panic(front, handle(state, endpoint, admitted)));
    let response = tokio::select! {
        response = permit.budget().scope(work) => response,
        // Dropping the work logs the request.
        () = context.cut.triggered() => error_response(front, &(&shutting_down()).into()),
    };
    (with_capture(response, captured), Some(permit))
}

/// A request that is captured, because its key opted in.
pub(super) fn to_capture(key: Option<&ClientKey>, id: &str, uri: &Uri) -> Option<SentRequest> {
    let key = key.filter(|key| key.is_captured())?;
    // A query may hold a key; of Gemini's, only the form of the stream matters.
    let events = uri.query().is_some_and(|query| query.contains("alt=sse"));
    let query = if events { "?alt=sse" } else { "" };
    Some(SentRequest {
        id: id.into(),
        key: key.shared_name(),
        path: format!("{}{query}", uri.path()),
    })
}

/// Hands the writer of a response on to the body.
pub(super) fn with_capture(
    mut response: Response<Body>,
    captured: Option<CaptureWriter>,
) -> Response<Body> {
    if let Some(writer) = captured {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        writer.begin(response.status().as_u16(), kind);
        response.extensions_mut().insert(writer);
    }
    response
}

/// Applies the limits of a caller to a request for a model.
pub(super) async fn limit(
    caller: Option<Arc<CallerLimits>>,
    exchange: &mut Exchange,
) -> Result<Vec<Permit>, (Arc<CallerLimits>, Refusal)> {
    let model = exchange.kind() != RequestKind::Other;
    let Some(caller) = caller.filter(|_| model) else {
        return Ok(Vec::new());
    };
    exchange.set_limits(Some(Arc::clone(&caller)));
    let admitted = admit_caller(&caller).await;
    admitted.map_err(|refusal| (caller, refusal))
}

/// Serves a large body on the heavy lane. The permit moves along: after a client
/// disconnect it is held until the lane drops the request.
async fn serve_heavy(
    context: &ServerContext,
    front: Front,
    state: Arc<GatewayState>,
    endpoint: Endpoint,
    admitted: AdmittedRequest,
    permit: RequestPermit,
) -> (Response<Body>, Option<RequestPermit>) {
    let heavy = admitted.heavy.clone();
    let job = heavy.spawn(async move {
        let work = catch_panic(front, handle(&state, endpoint, admitted));
        let response = permit.budget().scope(work).await;
        (response, Some(permit))
    });
    tokio::select! {
        response = job => response,
        () = context.cut.triggered() => (error_response(front, &(&shutting_down()).into()), None),
    }
}

/// A panic fails one request, not the other requests of its connection.
///
/// A combinator, because an `async fn` would reserve room for the large future twice: as
/// its argument and where it awaits.
pub(super) fn catch_panic(
    front: Front,
    work: impl Future<Output = Response<Body>>,
) -> impl Future<Output = Response<Body>> {
    // The request's state is dropped with it; nothing half-done is observed.
    AssertUnwindSafe(work)
        .catch_unwind()
        .map(move |result| match result {
            Ok(response) => response,
            Err(_) => {
                let refusal = RequestRefusal::new(500, INTERNAL_ERROR);
                error_response(front, &(&refusal).into())
            }
        })
}

pub(super) async fn handle(
    state: &Arc<GatewayState>,
    endpoint: Endpoint,
    admitted: AdmittedRequest,
) -> Response<Body> {
    match endpoint {
        Endpoint::Generate {
            front,
            model,
            stream,
        } => handlers::generate(state, front, model, stream, admitted).await,
        Endpoint::Count { front, model } => {
            handlers::count_tokens(state, front, model, admitted).await
        }
        Endpoint::Models(front, page) => handlers::list_models(state, front, &page, admitted).await,
        Endpoint::Model(front, id) => handlers::get_model(state, front, id, admitted).await,
        Endpoint::Show => handlers::ollama_show(state, admitted).await,
        Endpoint::Version => handlers::ollama_version(admitted),
        Endpoint::Embeddings(front) => handlers::embed(state, front, admitted).await,
        Endpoint::Images(call) => handlers::generate_images(state, call, admitted).await,
        Endpoint::Running => handlers::ollama_running(admitted),
        Endpoint::NotFound(front, path) => not_found(front, &path, admitted.exchange),
        // Served earlier: they belong to no dialect, or need no seat.
        Endpoint::Key(_)
        | Endpoint::Root
        | Endpoint::Healthz
        | Endpoint::Readyz
        | Endpoint::WrongMethod(_) => not_found(Front::Chat, "", admitted.exchange),
    }
}

fn not_found(front: Front, path: &str, exchange: Exchange) -> Response<Body> {
    let text = format!("no such path: {}", clip(path, LONGEST_SHOWN_PATH));
    fail(front, exchange, RequestRefusal::new(404, text))
}

/// Checks a parsed head; raw bytes are checked by the socket.
pub(super) fn check_head(head: &Request<Incoming>) -> Option<RejectedHead> {
    let refuse = |status, text| Some(RejectedHead { status, text });
    if matches!(*head.method(), Method::CONNECT | Method::TRACE) {
        return refuse(405, "not a proxy: use GET or POST");
    }
    let length = head
        .uri()
        .path_and_query()
        .map_or(0, |path| path.as_str().len());
    if length > LONGEST_URI {
        return Some(TOO_LONG);
    }
    let mut hosts = head.headers().get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return refuse(400, "the request has two Host headers");
    }
    if host.is_none() && head.version() == Version::HTTP_11 {
        return refuse(400, "the Host header is missing");
    }
    let named = head.uri().authority().map(|authority| authority.as_str());
    if let (Some(named), Some(host)) = (named, host)
        && !named.as_bytes().eq_ignore_ascii_case(host.as_bytes())
    {
        return refuse(
            400,
            "the request target and the Host header name different hosts",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::record::Sinks;

    #[tokio::test]
    async fn a_panic_is_an_error_in_the_clients_dialect_and_is_counted() {
        let metrics = Arc::<crate::metrics::Metrics>::default();
        let sinks = Arc::new(Sinks::new([metrics.clone() as _]));
        let exchange = Exchange::new(Arrival::at(Front::Messages), sinks);
        let work = async move {
            let _served = exchange;
            panic!("a bug");
        };
        let response = catch_panic(Front::Messages, work).await;
        assert_eq!(response.status(), 500);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(br#"{"type":"error""#), "{body:?}");
        let page = metrics.snapshot().text();
        assert!(
            page.contains("outcome=\"failed\",status=\"500\"} 1"),
            "{page}"
        );
    }
}
