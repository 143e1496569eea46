//! One request: let in, read, and given to its front.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{ALLOW, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use majordomo::{Error, ErrorKind};

use super::admission::{Permit, flow_of};
use super::context::ServerContext;
use super::entry::enter;
use super::guarded_body::{INTERNAL_ERROR, shutting_down};
use super::head::{Refused, TOO_LONG};
use super::intake::{self, Pace};
use super::readiness::ready;
use crate::admitted::AdmittedRequest;
use crate::exchange::Exchange;
use crate::fronts::{self, Endpoint, Front};
use crate::handlers;
use crate::heavy_lane::Heavy;
use crate::respond::{bare, refuse};
use crate::response_body::Body;
use crate::state::GatewayState;
use crate::trust::{Boundary, BoundaryRefusal, Caller, add_cors_headers, authenticate_client};

/// The longest path with its query.
const LONGEST_URI: usize = 8 * 1024;

/// Answers one request; the permit is its right to be served, for as long as its
/// answer takes.
pub(super) async fn dispatch(
    context: &Arc<ServerContext>,
    from: IpAddr,
    refused: Option<Refused>,
    request: Request<Incoming>,
) -> (Response<Body>, Option<Permit>) {
    let state = context.state.load_full();
    let origins = &state.server.origins;
    let boundary = Boundary::Clients {
        keyless: state.keys.is_empty(),
        origins,
    };
    let caller = boundary.check(request.method(), request.uri(), request.headers());
    if let (Ok(Caller::Preflight(preflight)), None) = (&caller, refused) {
        return (allowed(preflight.clone().response_headers()), None);
    }
    let outside = caller.as_ref().err();
    let (mut answer, permit) = admit(context, &state, from, refused, outside, request).await;
    add_cors_headers(&caller, origins, answer.headers_mut());
    (answer, permit)
}

/// Serves a request, unless its head is wrong, it comes from outside the trust
/// boundary, or it has no key.
async fn admit(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    from: IpAddr,
    refused: Option<Refused>,
    outside: Option<&BoundaryRefusal>,
    request: Request<Incoming>,
) -> (Response<Body>, Option<Permit>) {
    let (head, body) = request.into_parts();
    let endpoint = fronts::endpoint(&head.method, &head.uri, &head.headers);
    let front = front_of(&endpoint);
    let Some(front) = front.or(refused.map(|_| Front::Chat)) else {
        return (simple(context, &endpoint, outside), None);
    };
    let metrics = Arc::clone(&context.metrics);
    let traces = Arc::clone(&context.traces);
    let mut exchange = Exchange::new(crate::request_id::new_id().into(), front, metrics, traces);
    #[cfg(feature = "otel")]
    if let Some(telemetry) = context.telemetry.get() {
        exchange.watched(telemetry.watch(&head, &endpoint, &state.registry));
    }
    if let Some(Refused { status, text }) = refused {
        let error = Error::new(ErrorKind::Local, text).with_status(status);
        return (refuse(front, exchange, error), None);
    }
    if let Some(refusal) = outside {
        return (refuse(front, exchange, refusal.error()), None);
    }
    let key = match authenticate_client(
        &state.keys,
        &context.auth_throttle,
        from,
        &head.headers,
        &head.uri,
    ) {
        Ok(key) => key,
        Err(error) => return (refuse(front, exchange, error), None),
    };
    exchange.by(key.as_ref().map(|key| Arc::from(key.name())));
    let announced = body.size_hint().lower();
    if let Err(error) = intake::acceptable(&head.headers, announced, state.server.max_body) {
        return (refuse(front, exchange, error), None);
    }
    let admission = context.admission();
    let most = state.server.max_body;
    let flow = flow_of(key.as_deref(), from);
    let pace = Pace {
        limits: &context.limits,
        timeout: state.server.body_timeout,
    };
    let (permit, body) = match enter(&admission, flow, body, most, pace).await {
        Ok(entered) => entered,
        Err(error) => return (refuse(front, exchange, error), None),
    };
    let heavy = Heavy::new(&context.lane, flow, &body, context.limits.heavy);
    let admitted = AdmittedRequest {
        headers: head.headers,
        body,
        key,
        exchange,
        heavy,
    };
    if admitted.heavy.is_aboard() {
        return answer_heavy(
            context,
            front,
            Arc::clone(state),
            endpoint,
            admitted,
            permit,
        )
        .await;
    }
    // In place: a future of this size is not to be moved around.
    let work = pin!(surviving(front, served(state, endpoint, admitted)));
    let answer = tokio::select! {
        answer = permit.budget().scope(work) => answer,
        // Its line is written by what is dropped here.
        () = context.cut.triggered() => bare(front, &shutting_down()),
    };
    (answer, Some(permit))
}

/// The same for a large body, off the async threads. The permit goes along: what is
/// left of the request when its client leaves is held until the lane drops it.
async fn answer_heavy(
    context: &ServerContext,
    front: Front,
    state: Arc<GatewayState>,
    endpoint: Endpoint,
    admitted: AdmittedRequest,
    permit: Permit,
) -> (Response<Body>, Option<Permit>) {
    let heavy = admitted.heavy.clone();
    let job = heavy.spawn(async move {
        let work = surviving(front, served(&state, endpoint, admitted));
        let answer = permit.budget().scope(work).await;
        (answer, Some(permit))
    });
    tokio::select! {
        answer = job => answer,
        () = context.cut.triggered() => (bare(front, &shutting_down()), None),
    }
}

/// A mistake of ours costs one request, not those that share its connection.
async fn surviving(front: Front, work: impl Future<Output = Response<Body>>) -> Response<Body> {
    // Whatever the request held is gone with it; nothing half-done is seen again.
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(answer) => answer,
        Err(_) => {
            let error = Error::new(ErrorKind::Local, INTERNAL_ERROR);
            bare(front, &error.with_status(500))
        }
    }
}

async fn served(
    state: &Arc<GatewayState>,
    endpoint: Endpoint,
    admitted: AdmittedRequest,
) -> Response<Body> {
    match endpoint {
        Endpoint::Ask {
            front,
            model,
            stream,
        } => handlers::ask(state, front, model, stream, admitted).await,
        Endpoint::Count { front, model } => handlers::count(state, front, model, admitted).await,
        Endpoint::Models(Front::OllamaChat) => handlers::tags(state, admitted).await,
        Endpoint::Models(front) => handlers::list(state, front, admitted).await,
        Endpoint::Model(front, id) => handlers::one(state, front, id, admitted).await,
        Endpoint::Show => handlers::show(state, admitted).await,
        Endpoint::Version => handlers::version(admitted),
        Endpoint::Embeddings(front) => handlers::embed(state, front, admitted).await,
        Endpoint::Nowhere(front) => nowhere(front, admitted.exchange),
        // These speak no dialect and were answered before.
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz | Endpoint::WrongMethod(_) => {
            nowhere(Front::Chat, admitted.exchange)
        }
    }
}

fn nowhere(front: Front, exchange: Exchange) -> Response<Body> {
    let error = Error::new(ErrorKind::Local, "no such path");
    refuse(front, exchange, error.with_status(404))
}

/// Whose words an answer is in; none where no dialect is spoken.
fn front_of(endpoint: &Endpoint) -> Option<Front> {
    match endpoint {
        Endpoint::Ask { front, .. }
        | Endpoint::Count { front, .. }
        | Endpoint::Models(front)
        | Endpoint::Model(front, _)
        | Endpoint::Embeddings(front)
        | Endpoint::Nowhere(front) => Some(*front),
        Endpoint::Show | Endpoint::Version => Some(Front::OllamaChat),
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz | Endpoint::WrongMethod(_) => None,
    }
}

/// What is wrong with a head, apart from what only its bytes show.
pub(super) fn odd(head: &Request<Incoming>) -> Option<Refused> {
    let refuse = |status, text| Some(Refused { status, text });
    if matches!(*head.method(), Method::CONNECT | Method::TRACE) {
        return refuse(405, "this is no proxy: use GET or POST");
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
        return refuse(400, "there are two Host headers");
    }
    if host.is_none() && head.version() == Version::HTTP_11 {
        return refuse(400, "the Host header is missing");
    }
    let named = head.uri().authority().map(|authority| authority.as_str());
    if let (Some(named), Some(host)) = (named, host)
        && !named.as_bytes().eq_ignore_ascii_case(host.as_bytes())
    {
        return refuse(400, "the path names another host than the Host header");
    }
    None
}

/// What a browser is told before it sends a page's request.
fn allowed(headers: HeaderMap) -> Response<Body> {
    let mut answer = Response::new(Body::from(Bytes::new()));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    *answer.headers_mut() = headers;
    answer
}

/// An answer that speaks no dialect. The probes are answered under any name and for
/// any page: their few fixed words tell no more than that the port is open.
fn simple(
    context: &ServerContext,
    endpoint: &Endpoint,
    outside: Option<&BoundaryRefusal>,
) -> Response<Body> {
    let is_probe = matches!(endpoint, Endpoint::Healthz | Endpoint::Readyz);
    if let Some(refusal) = outside.filter(|_| !is_probe) {
        return plain(StatusCode::FORBIDDEN, format!("{refusal}\n").into());
    }
    let fixed = |status, text: &'static str| plain(status, Bytes::from_static(text.as_bytes()));
    match endpoint {
        Endpoint::WrongMethod(allow) => {
            let text = "the method is not allowed here\n";
            let mut answer = fixed(StatusCode::METHOD_NOT_ALLOWED, text);
            let allow = HeaderValue::from_static(allow);
            answer.headers_mut().insert(ALLOW, allow);
            answer
        }
        Endpoint::Root => fixed(StatusCode::OK, "majordomo is here\n"),
        Endpoint::Readyz => {
            let (status, text) = ready(context);
            fixed(status, text)
        }
        _ => fixed(StatusCode::OK, "ok\n"),
    }
}

fn plain(status: StatusCode, text: Bytes) -> Response<Body> {
    let mut answer = Response::new(Body::from(text));
    *answer.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use crate::traces::Traces;

    use super::*;

    #[tokio::test]
    async fn p13_a_panic_is_an_error_in_the_clients_dialect_and_is_counted() {
        let metrics = Arc::<crate::metrics::Metrics>::default();
        let exchange = Exchange::new(
            "id".into(),
            Front::Messages,
            Arc::clone(&metrics),
            Arc::new(Traces::new(&crate::config::ServerSettings::default())),
        );
        let work = async move {
            let _served = exchange;
            panic!("a mistake of ours");
        };
        let answer = surviving(Front::Messages, work).await;
        assert_eq!(answer.status(), 500);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(br#"{"type":"error""#), "{body:?}");
        let page = metrics.page(&[], true);
        assert!(
            page.contains("outcome=\"failed\",status=\"500\"} 1"),
            "{page}"
        );
    }
}
