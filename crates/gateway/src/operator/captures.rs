//! `/api/captures/{id}`: the request and response of a key that opted in, with its images
//! before and after fitting to each target.
//!
//! What a target received is computed again, see `captured_images`.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use majordomo::llm::Image;
use majordomo::media::measure;
use serde_json::json;

use super::body::OperatorBody;
use super::captured_images::images;
use super::{json_page, page};
use crate::capture::CapturedRequest;
use crate::server::ServerContext;
use crate::state::GatewayState;

pub(super) const PREFIX: &str = "/api/captures/";

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
        let text =
            "not captured: its key has no `capture = true`, or newer requests have replaced it";
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
            let found = found.and_then(|(list, image)| all.bytes(list, image));
            found.map_or_else(missing, bytes)
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
