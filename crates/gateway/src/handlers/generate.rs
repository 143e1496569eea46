//! An answer of a model, whole or streamed: the way of a request.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response};
use majordomo::{
    BoxFuture, Chain, Error, ErrorKind, ForwardedStream, Forwarding, Part, Request, Result,
};
use majordomo_vision::Scope;
use majordomo_wire::{Incoming, ReadError, Reply};
use tokio::time::timeout;

use crate::admitted::AdmittedRequest;
use crate::fronts::{Front, Stream, passed_on};
use crate::heavy_lane::Heavy;
use crate::relay::{Asked, Opener, Relay, reply};
use crate::request_id::new_id;
use crate::respond::refuse;
use crate::response_body::Body;
use crate::response_headers;
use crate::state::GatewayState;

/// Answers a request for an answer.
pub(crate) async fn ask(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    stream: Stream,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    let question = match question(state, front, model, stream, &mut admitted).await {
        Ok(question) => question,
        Err(error) => return refuse(front, admitted.exchange, error),
    };
    if question.stream {
        streamed(state, front, question, stream == Stream::Array, admitted).await
    } else {
        whole(front, question, admitted).await
    }
}

/// A request that was read, and who may serve it.
struct Question {
    request: Request,
    chain: Chain,
    stream: bool,
    asked: Asked,
}

async fn question(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    stream: Stream,
    admitted: &mut AdmittedRequest,
) -> Result<Question> {
    let body = std::mem::take(&mut admitted.body);
    state.server.max_counts.check_body(&body)?;
    let incoming = front.codec().read_request(body).map_err(unreadable)?;
    let Incoming {
        model: named,
        stream: asked_for_stream,
        stream_usage,
        request,
    } = incoming;
    state.server.max_counts.check(&request)?;
    let Some(model) = model.or(named).filter(|model| !model.is_empty()) else {
        return Err(invalid("the request names no model"));
    };
    admitted.exchange.asks_for(&model);
    admitted.allow(&model)?;
    let request = request.client_headers(passed_on(&admitted.headers));
    let key = admitted.key.as_ref().map(|key| key.name());
    let scope = Scope::of_key(key.unwrap_or_default());
    admitted.exchange.describes_in(scope.clone());
    let plan = state.plan(&model, request, admitted, scope).await?;
    admitted.exchange.changed(plan.changes);
    admitted.exchange.goes_to(&plan.chain, plan.trace);
    #[cfg(feature = "otel")]
    admitted.exchange.asks(Some(&plan.request));
    Ok(Question {
        asked: Asked {
            stream_usage,
            first_call: plan.request.next_call_number(),
        },
        request: plan.request,
        chain: plan.chain,
        stream: match stream {
            Stream::AsAsked => asked_for_stream,
            Stream::Events | Stream::Array => true,
            Stream::No => false,
        },
    })
}

async fn whole(front: Front, question: Question, admitted: AdmittedRequest) -> Response<Body> {
    let served = question.chain.generate(question.request).await;
    let response = match served {
        Ok(response) => response,
        Err(error) => return refuse(front, admitted.exchange, error),
    };
    let asked = question.asked;
    let bytes = size(&response);
    if admitted.heavy.must_move(bytes) {
        let heavy = admitted.heavy.clone();
        let writing = async move { written(front, &response, &asked, admitted) };
        return heavy.spawn_on(bytes, writing).await;
    }
    written(front, &response, &asked, admitted)
}

/// About how many bytes an answer has.
fn size(response: &majordomo::Response) -> usize {
    match &response.raw {
        Some(raw) => raw.bytes.len(),
        None => {
            let texts = response.parts.iter().filter_map(Part::as_text);
            texts.map(str::len).sum()
        }
    }
}

/// A whole answer in the client's dialect.
fn written(
    front: Front,
    response: &majordomo::Response,
    asked: &Asked,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    let exchange = &mut admitted.exchange;
    exchange.served(&response.model, &response.attempt_log);
    exchange.complete(response.usage);
    #[cfg(feature = "otel")]
    exchange.answered(response);
    let own = response.raw.as_ref();
    let own = own.filter(|raw| front.forwards() && raw.dialect == front.dialect());
    let body = match own {
        Some(raw) => raw.bytes.clone(),
        None => {
            let model = response.reported_model.as_deref();
            let model = model.unwrap_or_else(|| model_of(&response.model));
            let reply = reply(front, &new_id(), model, asked);
            let written = front.codec().write_response(response, &reply);
            exchange.lost(written.losses);
            written.body
        }
    };
    let mut answer = Response::new(Body::from(body));
    let map = answer.headers_mut();
    map.insert("content-type", HeaderValue::from_static("application/json"));
    response_headers::describe(map, front, &admitted.exchange);
    answer
}

async fn streamed(
    state: &Arc<GatewayState>,
    front: Front,
    question: Question,
    array: bool,
    admitted: AdmittedRequest,
) -> Response<Body> {
    let Question {
        request,
        chain,
        asked,
        ..
    } = question;
    let mut opening = open(front, chain, request);
    let patience = state.server.keepalive.filter(|_| !array);
    let opened = match patience {
        None => opening.await,
        Some(patience) => match timeout(patience, &mut opening).await {
            Ok(opened) => opened,
            Err(_) => {
                let opener = opener(front, String::new(), asked);
                let mut answer = head(front, &admitted, array);
                let aboard = Some(admitted.heavy).filter(Heavy::is_aboard);
                // The next target's body may still have to be written.
                let opening = match &aboard {
                    Some(heavy) => Box::pin(heavy.spawn(opening)),
                    None => opening,
                };
                let relay = Relay::opening(front, admitted.exchange, opening, opener);
                let relay = relay.dropped_by(aboard);
                *answer.body_mut() = Body::Stream(Box::new(relay.keep_alive(patience.into())));
                return answer;
            }
        },
    };
    let mut admitted = admitted;
    match opened {
        Ok(forwarding) => {
            let Forwarding {
                stream: answering,
                target,
                attempt_log,
            } = forwarding;
            admitted.exchange.served(&target, &attempt_log);
            let mut answer = head(front, &admitted, array);
            let opener = opener(front, model_of(&target).to_owned(), asked);
            let aboard = Some(admitted.heavy).filter(Heavy::is_aboard);
            let relay = Relay::begun(front, admitted.exchange, answering, opener, array);
            let relay = relay.dropped_by(aboard);
            *answer.body_mut() = Body::Stream(Box::new(relay.keep_alive(patience)));
            answer
        }
        Err(error) => refuse(front, admitted.exchange, error),
    }
}

/// Opens the stream up to its commit point. The future owns all that it needs,
/// since it may outlive the head of the answer.
fn open(front: Front, chain: Chain, request: Request) -> BoxFuture<'static, Result<Forwarding>> {
    Box::pin(async move {
        if front.forwards() {
            return chain.forward(request, front.dialect()).await;
        }
        let open = chain.open(request).await?;
        Ok(Forwarding {
            stream: ForwardedStream::Events(open.events),
            target: open.target,
            attempt_log: open.attempt_log,
        })
    })
}

fn opener(front: Front, fallback: String, asked: Asked) -> Opener {
    let id = new_id();
    Box::new(move |named| {
        let frame: Reply = reply(front, &id, named.unwrap_or(&fallback), &asked);
        front.codec().stream_writer(&frame)
    })
}

fn head(front: Front, admitted: &AdmittedRequest, array: bool) -> Response<Body> {
    let mut answer = Response::new(Body::empty());
    let map = answer.headers_mut();
    let kind = if array {
        "application/json"
    } else {
        front.stream_type()
    };
    map.insert("content-type", HeaderValue::from_static(kind));
    map.insert("cache-control", HeaderValue::from_static("no-cache"));
    // Proxies in front of us must not collect a stream.
    map.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response_headers::describe(map, front, &admitted.exchange);
    answer
}

/// The model's id in `provider/model`.
fn model_of(target: &str) -> &str {
    target.split_once('/').map_or(target, |(_, model)| model)
}

/// A body that is no request of this dialect. Why is the cause, which may repeat
/// what was asked: clients are told, logs are not.
pub(super) fn unreadable(error: ReadError) -> Error {
    invalid("the request cannot be read").with_cause(error)
}

pub(super) fn invalid(text: &str) -> Error {
    Error::new(ErrorKind::Local, text).with_status(400)
}

/// A whole body of JSON.
pub(super) fn json(body: Bytes) -> Response<Body> {
    let mut answer = Response::new(Body::from(body));
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert("content-type", kind);
    answer
}
