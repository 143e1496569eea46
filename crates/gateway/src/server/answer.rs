//! One request: let in, read, and given to its front.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::header::HOST;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::body::{Body as _, Incoming};
use majordomo::{Error, ErrorKind};

use super::admission::Permit;
use super::body::Body;
use super::entry::enter;
use super::head::{Refused, TOO_LONG};
use super::held::{MISTAKE, shutting_down};
use super::house::House;
use super::intake;
use crate::arrival::Arrival;
use crate::authenticate::{authenticate, presents_a_key};
use crate::exchange::Exchange;
use crate::fronts::{self, Endpoint, Front};
use crate::operator::ready;
use crate::refusal::{bare, refuse};
use crate::state::State;

/// The longest path with its query.
const LONGEST_URI: usize = 8 * 1024;

/// Answers one request; the permit is its right to be served, for as long as its
/// answer takes.
pub(super) async fn answer(
    house: &Arc<House>,
    from: IpAddr,
    refused: Option<Refused>,
    request: Request<Incoming>,
) -> (Response<Body>, Option<Permit>) {
    let (head, body) = request.into_parts();
    let endpoint = fronts::endpoint(&head.method, &head.uri, &head.headers);
    let front = front_of(&endpoint);
    let Some(front) = front.or(refused.map(|_| Front::Chat)) else {
        return (simple(house, &endpoint), None);
    };
    let metrics = Arc::clone(&house.metrics);
    let traces = Arc::clone(&house.traces);
    let mut exchange = Exchange::new(crate::relay::new_id().into(), front, metrics, traces);
    #[cfg(feature = "otel")]
    if let Some(telemetry) = house.telemetry.get() {
        let state = house.state.load();
        exchange.watched(telemetry.watch(&head, &endpoint, &state.registry));
    }
    if let Some(Refused { status, text }) = refused {
        let error = Error::new(ErrorKind::Local, text).with_status(status);
        return (refuse(front, exchange, error), None);
    }
    let state = house.state.load_full();
    let key = match authenticate(&state.keys, &head.headers, &head.uri) {
        Ok(key) => key,
        Err(error) => {
            let wrong = error.status() == Some(401) && presents_a_key(&head.headers, &head.uri);
            let guessing = wrong && house.guesses.too_many(from);
            let error = if guessing { too_many_guesses() } else { error };
            return (refuse(front, exchange, error), None);
        }
    };
    exchange.by(key.as_ref().map(|key| Arc::from(key.name())));
    let announced = body.size_hint().lower();
    if let Err(error) = intake::acceptable(&head.headers, announced, state.server.max_body) {
        return (refuse(front, exchange, error), None);
    }
    let admission = house.admission();
    let most = state.server.max_body;
    let (permit, body) = match enter(&admission, body, most, &house.limits).await {
        Ok(entered) => entered,
        Err(error) => return (refuse(front, exchange, error), None),
    };
    let arrival = Arrival {
        headers: head.headers,
        body,
        key,
        exchange,
    };
    let answer = tokio::select! {
        answer = surviving(front, served(&state, endpoint, arrival)) => answer,
        // Its line is written by what is dropped here.
        () = house.cut.heard() => bare(front, &shutting_down()),
    };
    (answer, Some(permit))
}

fn too_many_guesses() -> Error {
    let text = "too many wrong keys came from this address, and this one is wrong, too";
    Error::new(ErrorKind::Local, text)
        .with_status(429)
        .with_retry_after(Some(Duration::from_secs(1)))
}

/// A mistake of ours costs one request, not those that share its connection.
async fn surviving(front: Front, work: impl Future<Output = Response<Body>>) -> Response<Body> {
    // Whatever the request held is gone with it; nothing half-done is seen again.
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(answer) => answer,
        Err(_) => {
            let error = Error::new(ErrorKind::Local, MISTAKE);
            bare(front, &error.with_status(500))
        }
    }
}

async fn served(state: &Arc<State>, endpoint: Endpoint, arrival: Arrival) -> Response<Body> {
    match endpoint {
        Endpoint::Ask {
            front,
            model,
            stream,
        } => fronts::ask(state, front, model, stream, arrival).await,
        Endpoint::Count { front, model } => fronts::count(state, front, model, arrival).await,
        Endpoint::Models(Front::OllamaChat) => fronts::tags(state, arrival).await,
        Endpoint::Models(front) => fronts::list(state, front, arrival).await,
        Endpoint::Model(front, id) => fronts::one(state, front, id, arrival).await,
        Endpoint::Show => fronts::show(state, arrival).await,
        Endpoint::Version => fronts::version(arrival),
        Endpoint::Embeddings(front) => fronts::embed(state, front, arrival).await,
        Endpoint::Nowhere(front) => nowhere(front, arrival.exchange),
        // These speak no dialect and were answered before.
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz | Endpoint::WrongMethod(_) => {
            nowhere(Front::Chat, arrival.exchange)
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

fn simple(house: &House, endpoint: &Endpoint) -> Response<Body> {
    let (status, text, allow) = match endpoint {
        Endpoint::WrongMethod(allowed) => (
            StatusCode::METHOD_NOT_ALLOWED,
            "the method is not allowed here\n",
            Some(*allowed),
        ),
        Endpoint::Root => (StatusCode::OK, "majordomo is here\n", None),
        Endpoint::Readyz => {
            let (status, text) = ready(house);
            (status, text, None)
        }
        _ => (StatusCode::OK, "ok\n", None),
    };
    let mut answer = Response::new(Body::from(bytes::Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    let map = answer.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    map.insert("content-type", plain);
    if let Some(allow) = allow {
        map.insert("allow", HeaderValue::from_static(allow));
    }
    answer
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use crate::traces::Traces;

    use super::*;

    #[tokio::test]
    async fn p13_a_panic_is_an_error_in_the_clients_dialect_and_is_counted() {
        let metrics = Arc::<crate::operator::Metrics>::default();
        let exchange = Exchange::new(
            "id".into(),
            Front::Messages,
            Arc::clone(&metrics),
            Arc::new(Traces::new(&crate::config::Server::default())),
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
