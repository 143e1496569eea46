//! The operator's listener: what the gateway is doing, for those who run it.
//!
//! It is apart from the clients' listener, so that it answers while that one is
//! full. On loopback nobody needs a key; anywhere else one of the configured keys
//! is asked for.

mod explain;
mod health;
mod metrics;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

pub(crate) use health::ready;
pub(crate) use metrics::{Ended, Metrics, Tried};

use crate::authenticate::authenticate;
use crate::server::House;
use crate::traces::Record;

/// The only path that takes a body.
const EXPLAIN: &str = "/api/explain";
/// Few look at the same time.
const CONNECTIONS: usize = 64;
/// No look takes longer.
const LONGEST: Duration = Duration::from_secs(30);

/// The listener.
pub(crate) struct Operator {
    listener: TcpListener,
    house: Arc<House>,
    /// Others than this machine can reach it.
    open: bool,
}

impl Operator {
    pub(crate) async fn bind(address: SocketAddr, house: Arc<House>) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            house,
            open: !address.ip().to_canonical().is_loopback(),
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it is dropped.
    pub(crate) async fn run(self) {
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let place = Arc::clone(&room).acquire_owned().await;
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let (house, open) = (Arc::clone(&self.house), self.open);
            let service = service_fn(move |request: Request<Incoming>| {
                let house = Arc::clone(&house);
                async move { Ok::<_, Infallible>(answer(&house, open, request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(10))
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move {
                let _ = timeout(LONGEST, connection).await;
                drop(place);
            });
        }
    }
}

async fn answer(house: &House, open: bool, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let (allowed, told) = match path {
        EXPLAIN => (&[Method::POST][..], "only POST is allowed here\n"),
        _ => (
            &[Method::GET, Method::HEAD][..],
            "only GET is allowed here\n",
        ),
    };
    if !allowed.contains(request.method()) {
        return text(StatusCode::METHOD_NOT_ALLOWED, told);
    }
    // Probes have no key, and learn nothing that needs one.
    match path {
        "/healthz" => return text(StatusCode::OK, "ok\n"),
        "/readyz" => {
            let (status, body) = ready(house);
            return text(status, body);
        }
        _ => {}
    }
    let state = house.state.load_full();
    if open {
        // An address that everybody can reach is never served without keys, also
        // when a later configuration has none.
        let known = authenticate(&state.keys, request.headers(), request.uri());
        if !matches!(known, Ok(Some(_))) {
            return text(StatusCode::UNAUTHORIZED, "a key is needed here\n");
        }
    } else if !is_local(request.headers()) {
        return text(
            StatusCode::FORBIDDEN,
            "ask by the address itself or as localhost\n",
        );
    }
    if is_foreign(request.headers()) {
        return text(StatusCode::FORBIDDEN, "no page of another site is served\n");
    }
    match path {
        "/" => text(StatusCode::OK, status(house)),
        EXPLAIN => explain::answer(house, &state, request).await,
        "/api/health" => json_page(StatusCode::OK, &health::report(house)),
        "/api/requests" => {
            let requests = house.traces.latest();
            json_page(StatusCode::OK, &Requests { requests })
        }
        "/metrics" => {
            let health = state.registry.health().snapshot();
            let ready = ready(house).0 == StatusCode::OK;
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            let mut figures = house.metrics.page(&health, ready);
            let stale = u8::from(house.stale.load().is_some());
            figures.push_str(&format!(
                "# HELP majordomo_config_stale Whether the configuration file's newest version is not at work.\n\
                 # TYPE majordomo_config_stale gauge\nmajordomo_config_stale {stale}\n"
            ));
            page(StatusCode::OK, kind, figures)
        }
        _ => text(StatusCode::NOT_FOUND, "no such page\n"),
    }
}

/// A page of another site must not read this one through a browser: it can make
/// its own name lead here, but it cannot send another name.
fn is_local(headers: &HeaderMap) -> bool {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let Some(host) = host else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok()
}

/// Whether a page of another site asks through a browser, which says so.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let elsewhere = text("sec-fetch-site").is_some_and(|site| {
        let near = ["same-origin", "none"];
        !near.contains(&site)
    });
    let host = text("host").unwrap_or_default();
    let origin = text("origin").map(|origin| {
        let named = origin.split_once("://");
        named.map_or(origin, |(_, host)| host)
    });
    elsewhere || origin.is_some_and(|origin| origin != host)
}

/// What `/api/requests` says.
#[derive(Serialize)]
struct Requests {
    /// The latest first.
    requests: Vec<Arc<Record>>,
}

/// A few lines for people.
fn status(house: &House) -> String {
    let state = house.state.load();
    let health = state.registry.health().snapshot();
    let benched = health.iter().filter(|status| status.until_usable.is_some());
    let mut page = format!(
        "majordomo {}\n{}requests: {} open, {} of them streams\n",
        env!("CARGO_PKG_VERSION"),
        ready(house).1,
        house.metrics.open_requests.get(),
        house.metrics.open_streams.get(),
    );
    if let Some(reason) = &*house.stale.load() {
        page.push_str(&format!("the old configuration is at work: {reason}\n"));
    }
    for status in benched {
        let why = status.reason.as_deref().unwrap_or("no reason");
        page.push_str(&format!("benched: {} ({why})\n", status.subject));
    }
    page.push_str(
        "more: /api/health, /api/requests, /api/explain (POST), /metrics, /healthz, /readyz\n",
    );
    page
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    page(status, "text/plain; charset=utf-8", body)
}

fn json_page(status: StatusCode, body: &impl Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(body) {
        Ok(body) => page(status, "application/json", body),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "no report\n"),
    }
}

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let map = answer.headers_mut();
    map.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    map.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let strict = HeaderValue::from_static("nosniff");
    map.insert(header::X_CONTENT_TYPE_OPTIONS, strict);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered_without_a_key() {
        let rows = [
            ("127.0.0.1:4101", true),
            ("127.0.0.1", true),
            ("[::1]:4101", true),
            ("localhost:4101", true),
            ("LOCALHOST", true),
            ("evil.example:4101", false),
            ("localhost.evil.example", false),
            ("", false),
        ];
        for (host, expected) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            assert_eq!(is_local(&headers), expected, "{host}");
        }
        assert!(!is_local(&HeaderMap::new()));
    }
}
