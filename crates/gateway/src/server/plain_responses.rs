//! Responses outside of any dialect: CORS preflights, probes and the root.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::context::ServerContext;
use super::readiness::ready;
use crate::fronts::Endpoint;
use crate::response_body::Body;
use crate::trust::BoundaryRefusal;

/// The response to a CORS preflight.
pub(super) fn preflight_response(headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    *response.headers_mut() = headers;
    response
}

/// A response without a dialect. Probes skip the Host and Origin checks: their fixed
/// texts reveal only that the port is open.
pub(super) fn without_dialect(
    context: &ServerContext,
    endpoint: &Endpoint,
    outside: Option<&BoundaryRefusal>,
) -> Response<Body> {
    let is_probe = matches!(endpoint, Endpoint::Healthz | Endpoint::Readyz);
    if let Some(refusal) = outside.filter(|_| !is_probe) {
        return plain_text(StatusCode::FORBIDDEN, format!("{refusal}\n").into());
    }
    let fixed =
        |status, text: &'static str| plain_text(status, Bytes::from_static(text.as_bytes()));
    match endpoint {
        Endpoint::WrongMethod(allow) => {
            let text = "the method is not allowed here\n";
            let mut response = fixed(StatusCode::METHOD_NOT_ALLOWED, text);
            let allow = HeaderValue::from_static(allow);
            response.headers_mut().insert(ALLOW, allow);
            response
        }
        Endpoint::Root => fixed(StatusCode::OK, "majordomo is running\n"),
        Endpoint::Readyz => {
            let (status, text) = ready(context);
            fixed(status, text)
        }
        _ => fixed(StatusCode::OK, "ok\n"),
    }
}

fn plain_text(status: StatusCode, text: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
