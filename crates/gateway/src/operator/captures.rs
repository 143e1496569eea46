//! `/api/captures/{id}`: the request and response of a key that opted in, with its images
//! before and after fitting to each target.
//!
//! What a target received is computed again, see `captured_images`.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use majordomo::chain::Preview;
use majordomo::llm::{Change, Image, ImageRef, ModelExt as _};
use majordomo::media::measure;
use majordomo::{Part, Request};
use majordomo_limits::Flow;
use serde::Serialize;
use serde_json::json;

use super::body::OperatorBody;
use super::{json_page, page};
use crate::capture::CapturedRequest;
use crate::explain::ExplainRequest;
use crate::server::ServerContext;
use crate::state::GatewayState;

const PREFIX: &str = "/api/captures/";

/// The images of a request, and of what each target receives.
#[derive(Default, Serialize)]
pub(super) struct CapturedImages {
    /// As the client sent them.
    pub(super) sent: Vec<ImageFacts>,
    pub(super) targets: Vec<TargetImages>,
    /// Why there is no list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    #[serde(skip)]
    bytes: Vec<Vec<Option<Image>>>,
}

/// What a target receives.
#[derive(Serialize)]
pub(super) struct TargetImages {
    pub(super) target: String,
    pub(super) changes: Vec<String>,
    /// Why it would be skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) passed_over: Option<String>,
    pub(super) images: Vec<ImageFacts>,
}

/// An image, as far as it is known.
#[derive(Clone, Default, Serialize)]
pub(super) struct ImageFacts {
    /// Its media type by its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pixels: Option<(u32, u32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    /// About what the target counts for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<u64>,
    /// Where its bytes are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) href: Option<String>,
}

/// Whether a path belongs to this module.
pub(super) fn is_path(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Responds with a request, its images, or one of them.
pub(super) async fn respond(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    path: &str,
) -> Response<OperatorBody> {
    let rest = path.strip_prefix(PREFIX).unwrap_or_default();
    let segments: Vec<&str> = rest.split('/').collect();
    let missing = || {
        let text = "not captured: its key has no `capture = true`, or it was pushed out";
        json_page(StatusCode::NOT_FOUND, &json!({ "error": text }))
    };
    let Some(request) = segments.first().and_then(|id| context.capture.find(id)) else {
        return missing();
    };
    match segments[1..] {
        [] => shown(&request),
        ["images"] => json_page(StatusCode::OK, &images(context, state, request).await),
        ["images", target, image] => {
            let all = images(context, state, request).await;
            let at = |text: &str| text.parse::<usize>().ok();
            let found = at(target).zip(at(image));
            let found =
                found.and_then(|(target, image)| all.bytes.get(target)?.get(image)?.clone());
            found.map_or_else(missing, |image| bytes(&image))
        }
        _ => missing(),
    }
}

fn shown(request: &CapturedRequest) -> Response<OperatorBody> {
    let received = request.received();
    let body = json!({
        "id": request.id,
        "path": request.path,
        "body": String::from_utf8_lossy(&request.body),
        "response": {
            "status": received.status,
            "content_type": received.content_type,
            "text": String::from_utf8_lossy(&received.bytes),
            "cut": received.cut,
        },
    });
    json_page(StatusCode::OK, &body)
}

/// The bytes of an image, whose type is detected from the bytes; nothing else is served as an
/// image.
fn bytes(image: &Image) -> Response<OperatorBody> {
    let data: Bytes = (*image.data).clone();
    let kind = match measure(&data).map(|header| header.format.media_type()) {
        Ok("image/png") => "image/png",
        Ok("image/jpeg") => "image/jpeg",
        Ok("image/gif") => "image/gif",
        Ok("image/webp") => "image/webp",
        _ => "application/octet-stream",
    };
    let mut response = page(StatusCode::OK, kind, data);
    let closed = HeaderValue::from_static("default-src 'none'; sandbox");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, closed);
    response
}

/// Computes what each target receives.
pub(super) async fn images(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    request: Arc<CapturedRequest>,
) -> CapturedImages {
    let (state, size) = (Arc::clone(state), request.body.len());
    // It may be large, and decoding images takes a while.
    let work = async move { computed(&state, &request).await };
    context.lane.spawn(Flow::named("explain"), size, work).await
}

async fn computed(state: &GatewayState, captured: &CapturedRequest) -> CapturedImages {
    let path = captured.path.split('?').next().unwrap_or_default();
    let input = ExplainRequest {
        body: captured.body.clone(),
        path: Some(path.to_owned()),
        ..ExplainRequest::default()
    };
    let (request, previews) = match state.preview(&input).await {
        Ok(found) => found,
        Err(error) => {
            let problem = Some(crate::client_error::for_client(&error).message);
            return CapturedImages {
                problem,
                ..CapturedImages::default()
            };
        }
    };
    let mut all = CapturedImages::default();
    let place = format!("{PREFIX}{}/images", captured.id);
    all.add(&request, &place, |_| None)
        .clone_into(&mut all.sent);
    for preview in previews {
        let images = all.target(state, preview, &place);
        all.targets.push(images);
    }
    all
}

impl CapturedImages {
    fn target(&mut self, state: &GatewayState, preview: Preview, place: &str) -> TargetImages {
        let target = preview.target.to_string();
        let provider = state.registry.provider(preview.target.provider()).ok();
        let model = provider.and_then(|provider| provider.model(preview.target.model()).ok());
        let tokens = |image: &Image| {
            let model = model.as_ref()?;
            let alone = Request::user("").part(Part::Image(image.clone()));
            let without = model.estimate_tokens(&Request::user(""));
            Some(model.estimate_tokens(&alone).saturating_sub(without))
        };
        match preview.shaped {
            Ok(shaped) => TargetImages {
                target,
                changes: shaped.changes.iter().map(Change::to_string).collect(),
                passed_over: None,
                images: self.add(&shaped.request, place, tokens),
            },
            Err(error) => {
                self.bytes.push(Vec::new());
                TargetImages {
                    target,
                    changes: Vec::new(),
                    passed_over: Some(error.message().to_owned()),
                    images: Vec::new(),
                }
            }
        }
    }

    /// Adds the images of a request; their bytes are found under the number of the list.
    fn add(
        &mut self,
        request: &Request,
        place: &str,
        tokens: impl Fn(&Image) -> Option<u64>,
    ) -> Vec<ImageFacts> {
        let list = self.bytes.len();
        let (mut facts, mut kept) = (Vec::new(), Vec::new());
        for (number, image) in request.prompt().images().enumerate() {
            let inline = match image {
                ImageRef::Inline(image) => Some(image.clone()),
                _ => None,
            };
            facts.push(inline.as_ref().map_or_else(ImageFacts::default, |image| {
                let data: Bytes = (*image.data).clone();
                let header = measure(&data).ok();
                ImageFacts {
                    media_type: header.map(|header| header.format.media_type().to_owned()),
                    pixels: header.map(|header| (header.width, header.height)),
                    bytes: Some(data.len()),
                    tokens: tokens(image),
                    href: Some(format!("{place}/{list}/{number}")),
                }
            }));
            kept.push(inline);
        }
        self.bytes.push(kept);
        facts
    }
}
