//! `POST /api/explain`: a dry run of a request.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use majordomo_limits::Flow;
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::body::OperatorBody;
use super::{json_page, text};
use crate::client_error::for_client;
use crate::explain::ExplainRequest;
use crate::keys::ClientKeys;
use crate::refusal::RequestError;
use crate::server::{ServerContext, admit_body_without_seat};
use crate::state::GatewayState;

/// Responds with an explanation or an error.
pub(super) async fn respond(
    context: &ServerContext,
    state: &Arc<GatewayState>,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        let hint = "send the request as `content-type: application/json`\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, hint);
    }
    let max_body = state.server.max_body;
    let (permit, body) = match admit_body_without_seat(context, &head.headers, body, max_body).await
    {
        Ok(read) => read,
        Err(refusal) => return error_response(&refusal.into()),
    };
    let keys = context.keys();
    let (state, bytes) = (Arc::clone(state), body.len());
    // It may be large and may connect to providers: neither suits this runtime.
    let explaining = async move {
        let _permit = permit;
        explained(&state, &keys, body, head).await
    };
    let flow = Flow::named("explain");
    context.lane.spawn(flow, bytes, explaining).await
}

async fn explained(
    state: &GatewayState,
    keys: &ClientKeys,
    body: Bytes,
    head: Parts,
) -> Response<OperatorBody> {
    let question = ExplainRequest::read(body);
    let question =
        question.map(|question| with_overrides(question, head.uri.query(), head.headers));
    let question = question.map(|question| question.by_key_among(keys));
    let explained = match question {
        Ok(question) => state.explain(&question).await,
        Err(error) => Err(error),
    };
    match explained {
        Ok(explanation) => json_page(StatusCode::OK, &explanation),
        Err(error) => error_response(&error),
    }
}

/// Query parameters override the envelope; headers apply if the envelope has none.
fn with_overrides(
    mut question: ExplainRequest,
    query: Option<&str>,
    headers: HeaderMap,
) -> ExplainRequest {
    let (mut has_path, mut dialect) = (false, None);
    for pair in query.unwrap_or_default().split('&') {
        let Some((name, value)) = pair.split_once('=') else {
            continue;
        };
        let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "path" => {
                question.path = Some(value);
                has_path = true;
            }
            "dialect" => dialect = Some(value),
            "route" => question.route = Some(value),
            "as" => question.key = Some(value),
            _ => {}
        }
    }
    if dialect.is_some() {
        question.dialect = dialect;
        if !has_path {
            question.path = None;
        }
    }
    if question.headers.is_empty() {
        question.headers = headers;
    }
    question
}

/// Browsers send cross-origin JSON only after a preflight.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn error_response(error: &RequestError) -> Response<OperatorBody> {
    let shown = for_client(error);
    let status = StatusCode::from_u16(shown.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = json_page(status, &json!({ "error": shown.message }));
    if let Some(wait) = shown.retry_after {
        let seconds = HeaderValue::from(wait.as_secs().max(1));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}
