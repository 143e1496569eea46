//! Image generation and edits in OpenAI's dialect, to any target that generates images.
//!
//! A target of the same dialect gets the client's bytes with the target's model, and its
//! response is returned byte for byte. For all other targets, request and response are
//! translated.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use majordomo::llm::ImagePrompt;
use majordomo::{Chain, ImageRequest, ImageResponse, Part, Request};
use majordomo_wire::images::{self, ReadImages, is_edit};

use super::client_context::client_context;
use super::generate::{invalid, json, undecodable};
use crate::admitted::AdmittedRequest;
use crate::clock::wall_clock;
use crate::fronts::{Front, ImageCall};
use crate::record::unix_millis;
use crate::refusal::Result;
use crate::respond::fail;
use crate::response_body::Body;
use crate::response_headers::{add_cost, describe};
use crate::state::GatewayState;

/// The front of the images API, for its errors.
const FRONT: Front = Front::Chat;

/// Serves a request for images.
pub(crate) async fn generate_images(
    state: &Arc<GatewayState>,
    call: ImageCall,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    match generated(state, call, &mut admitted).await {
        Ok((response, wants_urls)) => {
            let written = bytes_to_write(&response);
            if admitted.heavy.must_move(written) {
                let heavy = admitted.heavy.clone();
                let writing = async move { respond(&response, wants_urls, admitted) };
                return heavy.spawn_on(written, writing).await;
            }
            respond(&response, wants_urls, admitted)
        }
        Err(error) => fail(FRONT, admitted.exchange, error),
    }
}

fn respond(
    response: &ImageResponse,
    wants_urls: bool,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    let exchange = &mut admitted.exchange;
    exchange.served(&response.model, &response.attempt_log);
    exchange.complete(response.usage);
    let mut http_response = json(body_of(response, wants_urls));
    let headers = http_response.headers_mut();
    describe(headers, FRONT, exchange);
    add_cost(headers, exchange.cost());
    http_response
}

/// The bytes of images that have to be encoded.
fn bytes_to_write(response: &ImageResponse) -> usize {
    match is_forwarded(response) {
        true => 0,
        false => response.images.iter().map(|image| image.data.len()).sum(),
    }
}

/// Whether the provider's bytes are in the client's dialect.
fn is_forwarded(response: &ImageResponse) -> bool {
    let raw = response.raw.as_ref();
    raw.is_some_and(|raw| raw.dialect == images::DIALECT)
}

async fn generated(
    state: &Arc<GatewayState>,
    call: ImageCall,
    admitted: &mut AdmittedRequest,
) -> Result<(ImageResponse, bool)> {
    let body = std::mem::take(&mut admitted.body);
    let content_type = admitted.headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or("application/json");
    if !content_type.starts_with("multipart/") {
        state.server.max_counts.check_body(&body)?;
    }
    let read = images::read_request(content_type, body);
    let read = read.map_err(undecodable)?;
    state
        .server
        .max_counts
        .check(&counted(read.request.prompt()))?;
    let (chain, request) = planned(state, call, &read, admitted).await?;
    let wants_urls = read.wants_urls;
    Ok((chain.generate_images(request).await?, wants_urls))
}

/// A chat request of the same size, for the limits on counts.
fn counted(prompt: &ImagePrompt) -> Request {
    let images = prompt.images.iter().chain(&prompt.mask);
    let images = images.cloned().map(Part::Image);
    let mut request = images.fold(Request::user(&*prompt.prompt), Request::part);
    request.edit().native.clone_from(&prompt.native);
    request
}

/// Checks the request and resolves its model.
async fn planned(
    state: &Arc<GatewayState>,
    call: ImageCall,
    read: &ReadImages,
    admitted: &mut AdmittedRequest,
) -> Result<(Chain, ImageRequest)> {
    let prompt = read.request.prompt();
    let model = read.model.as_deref().filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| invalid("the request names no model"))?;
    admitted.exchange.set_model(model);
    admitted.allow(model)?;
    if prompt.prompt.trim().is_empty() {
        return Err(invalid("`prompt` is missing or empty").into());
    }
    if read.stream {
        let text = "partial images are not streamed; omit `stream`";
        return Err(invalid(text).into());
    }
    match (call, is_edit(prompt)) {
        (ImageCall::Edits, false) => return Err(invalid("`image` is missing").into()),
        (ImageCall::Generations, true) => {
            let text = "images are edited at /v1/images/edits";
            return Err(invalid(text).into());
        }
        _ => {}
    }
    // Rules see the prompt; there is no conversation for processors to edit.
    let seen = Request::user(&*prompt.prompt);
    let (chain, trace) = state.plan_unprocessed(model, &seen, admitted).await?;
    admitted.exchange.routed(&chain, trace, None);
    let chain = chain.gated_by(admitted.exchange.gate(&state.pricing));
    let context = client_context(FRONT, state, admitted);
    Ok((chain, read.request.clone().with_context(context)))
}

/// The provider's bytes if they are in the client's dialect, otherwise a translated response.
fn body_of(response: &ImageResponse, wants_urls: bool) -> Bytes {
    match &response.raw {
        Some(raw) if is_forwarded(response) => raw.bytes.clone(),
        _ => {
            let created = unix_millis(wall_clock()) / 1_000;
            let created = u64::try_from(created).unwrap_or(0);
            images::write_response(response, created, wants_urls)
        }
    }
}
