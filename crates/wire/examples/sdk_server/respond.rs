//! Turns a request into a response, using nothing but the codecs.

use std::convert::Infallible;

use bytes::{Bytes, BytesMut};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming as Received;
use hyper::header::{CONTENT_TYPE, HeaderName};
use hyper::{Request, Response, StatusCode};
use majordomo_llm::{Capabilities, Error, ErrorKind, ModelInfo};
use majordomo_wire::{ClientError, Codec, Incoming, Protocol, Reply, ollama};

use crate::chunked_body::ChunkedBody;
use crate::route::{self, Endpoint, SdkRoute};
use crate::scenarios::{self, ScriptedResponse};

/// Creation time of everything, in Unix seconds.
const CREATED: u64 = 1_700_000_000;

/// Token count reported for every request.
const TOKENS: u64 = 123;

type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// Serves one request.
pub(crate) async fn respond(request: Request<Received>) -> Result<HttpResponse, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let Some(route) = route::find(&head.method, &head.uri, &head.headers) else {
        eprintln!("no route for {} {}", head.method, head.uri);
        return Ok(whole(StatusCode::NOT_FOUND, Bytes::new()));
    };
    Ok(match serve(&route, body) {
        Ok(response) => response,
        Err(error) => write_error(route.codec, &error),
    })
}

fn serve(route: &SdkRoute, body: Bytes) -> Result<HttpResponse, ClientError> {
    let codec = route.codec;
    match route.endpoint {
        Endpoint::Models => {
            // Every second model lists capabilities.
            let known = [None, Some(Capabilities::default())];
            let listed = scenarios::NAMES.iter().zip(known.iter().cycle());
            let models: Vec<ModelInfo> = listed
                .map(|(name, known)| ModelInfo {
                    id: (*name).to_owned(),
                    capabilities: known.clone(),
                })
                .collect();
            Ok(whole(StatusCode::OK, codec.write_models(&models, CREATED)))
        }
        Endpoint::Show => {
            let model = ModelInfo {
                id: ollama::read_show_request(&body)?,
                capabilities: Some(Capabilities::default()),
            };
            Ok(whole(StatusCode::OK, ollama::write_show(&model, CREATED)))
        }
        Endpoint::TokenCount => {
            let counting = codec.count_tokens().ok_or_else(|| {
                let text = format!("{} has no token counts", codec.dialect());
                Error::new(ErrorKind::Unsupported, text)
            })?;
            counting.read_request(body)?;
            Ok(whole(StatusCode::OK, counting.write_response(TOKENS)))
        }
        Endpoint::Generate | Endpoint::Stream => {
            let mut incoming = codec.read_request(body)?;
            incoming.model = route.model.clone().or(incoming.model);
            incoming.stream |= route.endpoint == Endpoint::Stream;
            Ok(generate(route.protocol, codec, &incoming)?)
        }
    }
}

fn generate(
    protocol: Protocol,
    codec: &dyn Codec,
    incoming: &Incoming,
) -> Result<HttpResponse, Error> {
    let model = incoming.model.clone().unwrap_or_default();
    let script = scenarios::find(&model, protocol, incoming.request.prompt())?;
    let reply = Reply {
        id: scenarios::ID.to_owned(),
        model,
        created: CREATED,
        stream_usage: incoming.stream_usage,
        first_call: incoming.request.prompt().next_call_number(),
        echo: codec.echo(&incoming.request),
        ..Reply::default()
    };
    if incoming.stream {
        return Ok(stream(protocol, codec, &script, &reply));
    }
    match script.breaks {
        Some(error) => Err(error),
        None => {
            let written = codec.write_response(&script.response, &reply);
            Ok(whole(StatusCode::OK, written.body))
        }
    }
}

fn stream(
    protocol: Protocol,
    codec: &dyn Codec,
    script: &ScriptedResponse,
    reply: &Reply,
) -> HttpResponse {
    let mut writer = codec.stream_writer(reply);
    let mut chunks = ChunkedBody::default();
    for event in &script.events() {
        let mut chunk = BytesMut::new();
        writer.write(event, &mut chunk);
        chunks.push(chunk);
    }
    if let Some(error) = &script.breaks {
        let mut chunk = BytesMut::new();
        writer.fail(error, &mut chunk);
        chunks.push(chunk);
    }
    let media_type = match protocol {
        Protocol::Ollama => "application/x-ndjson",
        _ => "text/event-stream",
    };
    Response::builder()
        .header(CONTENT_TYPE, media_type)
        .body(chunks.boxed())
        .expect("both are valid constants")
}

fn write_error(codec: &dyn Codec, error: &ClientError) -> HttpResponse {
    let reply = codec.write_client_error(error);
    let status = StatusCode::from_u16(reply.status).expect("a codec writes real statuses");
    let mut response = whole(status, reply.body);
    for (name, value) in reply.headers {
        let value = value.parse().expect("a codec writes valid headers");
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
    response
}

fn whole(status: StatusCode, body: Bytes) -> HttpResponse {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(body).boxed())
        .expect("a status and a constant are valid")
}
