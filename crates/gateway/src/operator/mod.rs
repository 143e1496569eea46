//! The operator's listener: the web page, health, metrics, recent requests, dry runs, keys and
//! teams.
//!
//! Separate from the client listener, so that it responds while that one is saturated. On
//! loopback no key is required; elsewhere a key of role `viewer` may read its team's data, and
//! a key of role `operator` may do everything. Serves TLS if the gateway does.
//!
//! May use `stored_keys`, `bench_history`, `explain`, `fronts`, `handlers`, `live`, `metrics`, `quota`, `refusal`,
//! `routes`, `server`, `state`, `traces` and `trust`.

mod access;
mod body;
mod budgets;
mod captured_images;
mod captures;
mod config_check;
mod connection;
mod events;
mod explain;
mod health;
mod keys;
mod lifetime;
mod metrics;
mod open_connections;
mod page;
mod playground;
mod relayed_body;
#[cfg(test)]
mod settled;
mod sign_in;
mod status;
mod targets;
mod thread;
mod try_model;
mod usage;
mod usage_report;
#[cfg(test)]
mod walk;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde::Serialize;
use socket2::SockRef;
use tokio::net::TcpListener;

use access::OperatorCaller;
use body::OperatorBody;
use events::Publisher;
use lifetime::Lifetime;
#[cfg(feature = "otel")]
pub(crate) use metrics::current_metrics;
use open_connections::{InFlight, OpenConnections};
pub(crate) use thread::OperatorThread;

use crate::refusal::RequestRefusal;
use crate::server::{ServerContext, TlsAcceptorHandle, ready};
use crate::state::GatewayState;
use crate::stored_keys::AccessRequest;
use crate::traces::RequestTrace;
use crate::trust::{Visible, is_listed};

/// The path prefix of single requests.
const TRACES: &str = "/api/requests/";
/// Takes a request as its body.
const EXPLAIN: &str = "/api/explain";
/// Takes a short body.
const TRY: &str = "/api/try";
/// Takes a configuration.
const CONFIG_CHECK: &str = "/api/config/check";
/// Takes a client's request.
const PLAYGROUND: &str = "/api/playground";
/// Longest short body.
const SHORT_BODY: usize = 64 * 1024;
/// Maximum concurrent connections. A new one evicts the oldest idle one; an open page
/// holds one.
const CONNECTIONS: usize = 256;
/// What the kernel keeps of a response that is not read yet, in bytes.
const SEND_BUFFER: usize = 128 * 1024;

/// State shared by the listener's requests.
pub(crate) struct OperatorContext {
    server: Arc<ServerContext>,
    publisher: Publisher,
}

/// The bound operator listener.
pub(crate) struct Operator {
    listener: TcpListener,
    context: Arc<ServerContext>,
    tls: Option<TlsAcceptorHandle>,
    /// Whether only this machine can reach it.
    on_loopback: bool,
}

impl Operator {
    pub(crate) async fn bind(
        address: SocketAddr,
        context: Arc<ServerContext>,
        tls: Option<TlsAcceptorHandle>,
    ) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            context,
            tls,
            on_loopback: address.ip().to_canonical().is_loopback(),
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves on the current runtime until dropped.
    async fn run(self) {
        // It was bound on another runtime, whose driver does not wake tasks of this
        // one.
        let listener = self.listener.into_std().and_then(TcpListener::from_std);
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(reason = %error, "the operator listener cannot be used");
                return;
            }
        };
        let context = Arc::new(OperatorContext {
            publisher: Publisher::new(
                Arc::clone(&self.context.live),
                Arc::clone(&self.context.traces),
            ),
            server: self.context,
        });
        let accepting = accept(listener, &context, self.tls, self.on_loopback);
        tokio::select! {
            () = accepting => {}
            () = context.publisher.run() => {}
        }
    }
}

/// Accepts connections until dropped.
async fn accept(
    listener: TcpListener,
    context: &Arc<OperatorContext>,
    tls: Option<TlsAcceptorHandle>,
    on_loopback: bool,
) {
    let mut open = OpenConnections::default();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if !open.make_room(CONNECTIONS) {
            continue;
        }
        // What the kernel buffers is neither ours to count nor a sign that a page is read.
        let _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
        let busy = InFlight::default();
        let peer = OperatorPeer {
            from: peer.ip(),
            on_loopback,
            lifetime: Lifetime::new(),
        };
        let lifetime = peer.lifetime.clone();
        let context = Arc::clone(context);
        let serving = connection::serve(stream, tls.clone(), context, peer, busy.clone());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = serving => {}
                () = lifetime.over() => {}
            }
        });
        open.push(busy, task.abort_handle());
    }
}

/// The origin of a request to the operator listener.
#[derive(Clone)]
struct OperatorPeer {
    from: IpAddr,
    /// Whether the listener is on loopback, so the peer is local.
    on_loopback: bool,
    /// Of its connection.
    lifetime: Lifetime,
}

async fn respond(
    operator: &OperatorContext,
    peer: &OperatorPeer,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    let context = &operator.server;
    let path = request.uri().path();
    let state = context.state.load_full();
    // Probes need no key and no Host check: they reveal nothing protected.
    let is_probe = matches!(path, "/healthz" | "/readyz");
    // The sign-in form needs its style; assets reveal nothing protected either.
    if let Some(asset) = majordomo_page::asset(path)
        && request.method() == Method::GET
        && state.config().page.enabled
    {
        return page::asset(asset, request.headers());
    }
    if sign_in::is_path(path) && !peer.on_loopback && state.config().page.enabled {
        return sign_in::respond(context, &state, peer, request).await;
    }
    let asks_for_a_page = access::asks_for_a_page(&request);
    let caller = match is_probe {
        true => OperatorCaller::Local,
        false => match access::admit(
            context,
            peer,
            request.method(),
            request.uri(),
            request.headers(),
        ) {
            Ok(caller) => caller,
            Err(error)
                if error.status() == 401 && asks_for_a_page && state.config().page.enabled =>
            {
                return sign_in::redirect(&request);
            }
            Err(error)
                if error.status() == 403 && asks_for_a_page && state.config().page.enabled =>
            {
                return page::refused(error.message());
            }
            Err(error) => return error_response(&error),
        },
    };
    if !is_listed(path) {
        return match asks_for_a_page && state.config().page.enabled {
            true => {
                let text = "There is no screen at this address.";
                let context = page::PageContext {
                    server: context,
                    state: &state,
                    caller: &caller,
                    query: "",
                };
                context.missing("No such screen", text)
            }
            false => text(StatusCode::NOT_FOUND, "no such page\n"),
        };
    }
    if AccessRequest::is_path(path) {
        return keys::respond(context, &state, caller.who(), request).await;
    }
    let (allowed, hint) = match path {
        EXPLAIN | TRY | CONFIG_CHECK | PLAYGROUND => {
            (&[Method::POST][..], "use POST for this path\n")
        }
        path if targets::is_action(path) => (&[Method::POST][..], "use POST for this path\n"),
        _ => (&[Method::GET, Method::HEAD][..], "use GET for this path\n"),
    };
    if !allowed.contains(request.method()) {
        return text(StatusCode::METHOD_NOT_ALLOWED, hint);
    }
    match path {
        "/healthz" => text(StatusCode::OK, "ok\n"),
        "/readyz" => {
            let (status, body) = ready(context);
            text(status, body)
        }
        "/" if !page::accepts_html(request.headers()) || !state.config().page.enabled => {
            text(StatusCode::OK, status::text(context, &caller.sees()))
        }
        EXPLAIN => explain::respond(context, &state, request).await,
        TRY => try_it(context, &state, request).await,
        path if targets::is_action(path) => {
            targets::respond(context, &state, path, request.headers(), caller.who()).await
        }
        "/api/events" => {
            let (server, peer, head) = (Arc::clone(context), peer.clone(), request.into_parts().0);
            let lifetime = peer.lifetime.clone();
            let query = head.uri.query().unwrap_or_default().to_owned();
            // A stream outlives the check of its head, but not the key or session.
            let is_valid = move || {
                access::admit(&server, &peer, &head.method, &head.uri, &head.headers).is_ok()
            };
            events::respond(&operator.publisher, &query, lifetime, Box::new(is_valid))
        }
        PLAYGROUND => playground::respond(context, &state, peer.lifetime.clone(), request).await,
        CONFIG_CHECK => config_check::check(context, &state, request).await,
        path if captures::is_path(path) => captures::respond(context, &state, path).await,
        "/api/config" => config_check::running(&state),
        "/api/health" => json_page(StatusCode::OK, &health::report(context)),
        "/api/usage" => {
            let query = request.uri().query().unwrap_or_default();
            usage::usage(context, &state, query, &caller.sees()).await
        }
        "/api/budgets" => budgets::respond(context, &state, &caller.sees()).await,
        // With a query, from the ledger; without one, the latest with their details.
        "/api/requests" if request.uri().query().is_some() => {
            let query = request.uri().query().unwrap_or_default();
            usage::stored_requests(context, query, &caller.sees()).await
        }
        "/api/requests" => {
            let mut requests = context.traces.latest();
            let sees = caller.sees();
            requests.retain(|trace| trace.is_visible(&sees));
            json_page(StatusCode::OK, &RequestsReport { requests })
        }
        path if path.starts_with(TRACES) => trace(context, path, &caller.sees()),
        "/metrics" => {
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            page(
                StatusCode::OK,
                kind,
                metrics::current_metrics(context).text(),
            )
        }
        path => {
            let context = page::PageContext {
                server: context,
                state: &state,
                caller: &caller,
                query: request.uri().query().unwrap_or_default(),
            };
            let shown = match state.config().page.enabled {
                true => page::respond(&context, path).await,
                false => None,
            };
            shown.unwrap_or_else(|| text(StatusCode::NOT_FOUND, "no such page\n"))
        }
    }
}

/// A recent request that the reader may see.
fn trace(context: &ServerContext, path: &str, sees: &Visible) -> Response<OperatorBody> {
    let id = path.strip_prefix(TRACES).unwrap_or_default();
    let found = context.traces.trace(id);
    match found.filter(|trace| trace.is_visible(sees)) {
        Some(trace) => json_page(StatusCode::OK, &trace),
        None => {
            let text = "no such request: it was never made, or is no longer kept";
            json_page(StatusCode::NOT_FOUND, &serde_json::json!({ "error": text }))
        }
    }
}

/// Sends a short request to the model that the body names.
async fn try_it(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    if !explain::is_json(request.headers()) {
        let hint = "send the request as `content-type: application/json`\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, hint);
    }
    match Limited::new(request.into_body(), SHORT_BODY)
        .collect()
        .await
    {
        Ok(body) => try_model::respond(context, state, &body.to_bytes()).await,
        Err(_) => text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long\n"),
    }
}

fn error_response(refusal: &RequestRefusal) -> Response<OperatorBody> {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = text(status, format!("{}\n", refusal.message()));
    if let Some(wait) = refusal.retry_after() {
        let seconds = HeaderValue::from(wait.as_secs().max(1));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// The response of `/api/requests`.
#[derive(Serialize)]
struct RequestsReport {
    /// Latest first.
    requests: Vec<RequestTrace>,
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<OperatorBody> {
    page(status, "text/plain; charset=utf-8", body)
}

fn json_page(status: StatusCode, body: &impl Serialize) -> Response<OperatorBody> {
    match serde_json::to_vec(body) {
        Ok(body) => page(status, "application/json", body),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "no report\n"),
    }
}

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<OperatorBody> {
    let mut response = Response::new(OperatorBody::from(body.into()));
    *response.status_mut() = status;
    let map = response.headers_mut();
    map.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    map.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let strict = HeaderValue::from_static("nosniff");
    map.insert(header::X_CONTENT_TYPE_OPTIONS, strict);
    response
}
