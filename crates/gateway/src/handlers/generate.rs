//! Generation, whole or streamed: from decoded request to response.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response};
use majordomo::chain::{ForwardedStream, Forwarding};
use majordomo::{BoxFuture, Chain, Event, ModelExt, Part, Request};
use majordomo_vision::Scope;
use majordomo_wire::{
    ClientError, ForwardedCalls, Incoming, ReadError, Reply, RequestEcho, StreamWriter,
};
use tokio::time::timeout;

use super::cheaper::{affordable, cheaper_chain};
use super::client_context::with_client_context;
use super::load::{loaded, loads_nothing};
use crate::admitted::AdmittedRequest;
use crate::call_journal::CallJournal;
use crate::client_error::for_client;
use crate::fronts::{Front, StreamMode};
use crate::heavy_lane::LaneHandle;
use crate::refusal::{RequestRefusal, Result};
use crate::relay::{Opener, Relay, ReplyOptions, reply};
use crate::request_id::new_id;
use crate::respond::fail;
use crate::response_body::Body;
use crate::response_headers;
use crate::shapes::lacks_conversation;
use crate::state::GatewayState;

/// Serves a generation request.
pub(crate) async fn generate(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    stream: StreamMode,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    let planned = match plan_request(state, front, model, stream, &mut admitted).await {
        Ok(planned) => planned,
        Err(error) => return fail(front, admitted.exchange, error),
    };
    if loads_nothing(front, &planned.request, &planned.chain) {
        return loaded(front, &planned.options, admitted);
    }
    if planned.stream {
        respond_streaming(state, front, planned, stream == StreamMode::Array, admitted).await
    } else {
        respond_whole(front, planned, admitted).await
    }
}

/// A decoded and planned request.
struct PlannedRequest {
    request: Request,
    chain: Chain,
    /// Serves if a budget covers it but not `chain`.
    cheaper: Option<Chain>,
    stream: bool,
    options: ReplyOptions,
}

async fn plan_request(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    stream: StreamMode,
    admitted: &mut AdmittedRequest,
) -> Result<PlannedRequest> {
    let body = std::mem::take(&mut admitted.body);
    state.server.max_counts.check_body(&body)?;
    let incoming = front.codec().read_request(body).map_err(undecodable)?;
    let Incoming {
        model: named,
        stream: stream_requested,
        stream_usage,
        request,
    } = incoming;
    state.server.max_counts.check(&request)?;
    if let Some(field) = front.required_messages()
        && lacks_conversation(&request)
    {
        return Err(invalid(&format!("`{field}` is missing or empty")).into());
    }
    let Some(model) = model.or(named).filter(|model| !model.is_empty()) else {
        return Err(invalid("the request names no model").into());
    };
    admitted.exchange.set_model(&model);
    admitted.allow(&model)?;
    let limits = admitted.exchange.limits();
    let budgeted = limits.is_some_and(|limits| limits.stack().has_budget());
    let request = with_client_context(request, front, state, admitted).needs_usage(budgeted);
    let key = admitted.key.as_ref().map(|key| key.name());
    let gate = admitted.exchange.gate(&state.pricing);
    let scope = Scope::gated(key.unwrap_or_default(), Arc::clone(&gate));
    admitted.exchange.set_describe_scope(scope.clone());
    let plan = state.plan(&model, request, admitted, scope.clone()).await?;
    let cheaper = cheaper_chain(state, admitted, &plan.request, scope).await;
    admitted.exchange.add_changes(plan.changes);
    let exchange = &mut admitted.exchange;
    exchange.routed(&plan.chain, plan.trace, Some(&plan.request));
    let stream = match stream {
        StreamMode::FromBody => stream_requested,
        StreamMode::Events | StreamMode::Array => true,
        StreamMode::No => false,
    };
    Ok(PlannedRequest {
        options: ReplyOptions {
            stream_usage,
            first_call: plan.request.prompt().next_call_number(),
            echo: RequestEcho::default(),
            estimated_input: (front == Front::Messages && stream)
                .then_some(&plan.chain)
                .filter(|chain| !chain.speaks(&front.dialect()))
                .map(|chain| chain.estimate_tokens(&plan.request)),
            began: admitted.exchange.began(),
        },
        request: plan.request,
        cheaper: cheaper.map(|chain| chain.gated_by(Arc::clone(&gate))),
        chain: plan.chain.gated_by(gate),
        stream,
    })
}

async fn respond_whole(
    front: Front,
    planned: PlannedRequest,
    admitted: AdmittedRequest,
) -> Response<Body> {
    let asked = repeated(front, &planned.request);
    let chains = (planned.chain, planned.cheaper);
    let journal = admitted.exchange.journal();
    let generate = |chain: Chain, request| async move { chain.generate(request).await };
    let served = affordable(chains, journal, planned.request, generate).await;
    let response = match served {
        Ok(response) => response,
        Err(error) => return fail(front, admitted.exchange, error),
    };
    let options = planned.options;
    let bytes = approximate_size(&response);
    if admitted.heavy.must_move(bytes) {
        let heavy = admitted.heavy.clone();
        let writing =
            async move { encode_response(front, &response, options, asked.as_ref(), admitted) };
        return heavy.spawn_on(bytes, writing).await;
    }
    encode_response(front, &response, options, asked.as_ref(), admitted)
}

/// The client's request, if responses repeat parts of it. Any other request stays unshared, so
/// that editing it needs no copy.
fn repeated(front: Front, request: &Request) -> Option<Request> {
    (front == Front::Responses).then(|| request.clone())
}

fn echo(front: Front, asked: Option<&Request>) -> RequestEcho {
    asked.map_or_else(RequestEcho::default, |asked| front.codec().echo(asked))
}

/// Approximate size of a response.
fn approximate_size(response: &majordomo::Response) -> usize {
    match &response.raw {
        Some(raw) => raw.bytes.len(),
        None => {
            let texts = response.parts.iter().filter_map(Part::as_text);
            texts.map(str::len).sum()
        }
    }
}

/// Encodes a whole response in the client's dialect.
fn encode_response(
    front: Front,
    response: &majordomo::Response,
    mut options: ReplyOptions,
    asked: Option<&Request>,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    let exchange = &mut admitted.exchange;
    exchange.served(&response.model, &response.attempt_log);
    exchange.complete(response.usage);
    exchange.observe_response(response);
    let own = response.raw.as_ref();
    let own = own.filter(|raw| front.forwards() && raw.dialect == front.dialect());
    let body = match own {
        Some(raw) if response.tool_calls().next().is_some() => {
            let mut calls = ForwardedCalls::new(front.protocol(), options.first_call);
            calls.complete_body(raw.bytes.clone())
        }
        Some(raw) => raw.bytes.clone(),
        None => {
            let model = response.reported_model.as_deref();
            let model = model.unwrap_or_else(|| model_of(&response.model));
            options.echo = echo(front, asked);
            let reply = reply(front, &new_id(), model, &options);
            let written = front.codec().write_response(response, &reply);
            exchange.add_losses(written.losses);
            written.body
        }
    };
    let mut http_response = Response::new(Body::from(body));
    let map = http_response.headers_mut();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response_headers::describe(map, front, &admitted.exchange);
    response_headers::add_cost(map, admitted.exchange.cost());
    http_response
}

async fn respond_streaming(
    state: &Arc<GatewayState>,
    front: Front,
    planned: PlannedRequest,
    array: bool,
    admitted: AdmittedRequest,
) -> Response<Body> {
    let PlannedRequest {
        request,
        chain,
        cheaper,
        mut options,
        ..
    } = planned;
    let first_call = options.first_call;
    let asked = repeated(front, &request);
    let journal = admitted.exchange.journal();
    let mut opening = open(front, (chain, cheaper), journal, request);
    let keep_alive = state.server.keepalive.filter(|_| !array);
    let opened = match keep_alive {
        None => opening.await,
        Some(keep_alive) => match timeout(keep_alive, &mut opening).await {
            Ok(opened) => opened,
            Err(_) => {
                options.echo = echo(front, asked.as_ref());
                drop(asked);
                let opener = opener(front, String::new(), options);
                let mut http_response = streaming_head(front, &admitted, array);
                let on_lane = Some(admitted.heavy).filter(LaneHandle::runs_on_lane);
                // The next target's request may still have to be encoded.
                let opening = match &on_lane {
                    Some(heavy) => Box::pin(heavy.spawn(opening)),
                    None => opening,
                };
                let relay = Relay::opening(front, admitted.exchange, opening, opener);
                let relay = relay.numbering_calls_from(first_call).dropped_by(on_lane);
                *http_response.body_mut() =
                    Body::Stream(Box::new(relay.keep_alive(keep_alive.into())));
                return http_response;
            }
        },
    };
    let mut admitted = admitted;
    match opened {
        Ok(forwarding) => {
            let Forwarding {
                stream,
                target,
                attempt_log,
            } = forwarding;
            admitted.exchange.served(&target, &attempt_log);
            let mut http_response = streaming_head(front, &admitted, array);
            if let ForwardedStream::Events(_) = stream {
                options.echo = echo(front, asked.as_ref());
            }
            drop(asked);
            let opener = opener(front, model_of(&target).to_owned(), options);
            let on_lane = Some(admitted.heavy).filter(LaneHandle::runs_on_lane);
            let relay = Relay::begun(front, admitted.exchange, stream, opener, array);
            let relay = relay.numbering_calls_from(first_call).dropped_by(on_lane);
            *http_response.body_mut() = Body::Stream(Box::new(relay.keep_alive(keep_alive)));
            http_response
        }
        Err(error) => {
            let error = error.into();
            let shown = for_client(&error);
            if !front.fails_in_stream(&shown) {
                return fail(front, admitted.exchange, error);
            }
            options.echo = echo(front, asked.as_ref());
            let mut writer = opener(front, String::new(), options)(None);
            admitted.exchange.start_stream();
            admitted.exchange.interrupted(&error, shown.class);
            let mut http_response = streaming_head(front, &admitted, array);
            *http_response.body_mut() = failed_stream(&mut *writer, &shown);
            http_response
        }
    }
}

/// A stream that begins and then fails.
fn failed_stream(writer: &mut dyn StreamWriter, error: &ClientError) -> Body {
    let mut out = BytesMut::new();
    let begun = Event::Start {
        id: None,
        model: None,
    };
    writer.write(&begun, &mut out);
    writer.fail_with(error, &mut out);
    Body::from(out.freeze())
}

/// Opens the stream up to its commit point. The future is `'static` since it may
/// outlive the response's head.
fn open(
    front: Front,
    chains: (Chain, Option<Chain>),
    journal: Option<Arc<CallJournal>>,
    request: Request,
) -> BoxFuture<'static, majordomo::Result<Forwarding>> {
    let open_one = move |chain: Chain, request: Request| async move {
        if front.forwards() {
            return chain.forward(request, front.dialect()).await;
        }
        let open = chain.open(request).await?;
        Ok(Forwarding {
            stream: ForwardedStream::Events(open.events),
            target: open.target,
            attempt_log: open.attempt_log,
        })
    };
    Box::pin(affordable(chains, journal, request, open_one))
}

fn opener(front: Front, fallback: String, options: ReplyOptions) -> Opener {
    let id = new_id();
    Box::new(move |named| {
        let frame: Reply = reply(front, &id, named.unwrap_or(&fallback), &options);
        front.codec().stream_writer(&frame)
    })
}

fn streaming_head(front: Front, admitted: &AdmittedRequest, array: bool) -> Response<Body> {
    let mut http_response = Response::new(Body::empty());
    let map = http_response.headers_mut();
    let kind = if array {
        "application/json"
    } else {
        front.stream_type()
    };
    map.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    map.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Reverse proxies must not buffer a stream.
    map.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response_headers::describe(map, front, &admitted.exchange);
    http_response
}

/// The model of `provider/model`.
fn model_of(target: &str) -> &str {
    target.split_once('/').map_or(target, |(_, model)| model)
}

/// A body that is not a request of this dialect. The detail may quote the request:
/// clients see it, logs do not.
pub(super) fn undecodable(error: ReadError) -> RequestRefusal {
    invalid("the request cannot be decoded").with_detail(error)
}

pub(super) fn invalid(text: &str) -> RequestRefusal {
    RequestRefusal::new(400, text)
}

/// A JSON response.
pub(super) fn json(body: Bytes) -> Response<Body> {
    let mut http_response = Response::new(Body::from(body));
    let kind = HeaderValue::from_static("application/json");
    http_response.headers_mut().insert(CONTENT_TYPE, kind);
    http_response
}
