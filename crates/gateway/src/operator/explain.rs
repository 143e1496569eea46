//! `POST /api/explain`: what would become of a request.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use majordomo::Error;
use majordomo_limits::Flow;
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::{json_page, text};
use crate::explain::ExplainRequest;
use crate::fronts::Front;
use crate::server::{ServerContext, look_in};
use crate::state::GatewayState;

/// Answers with an explanation, or with why there is none.
pub(super) async fn answer(
    context: &ServerContext,
    state: &Arc<GatewayState>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        let told = "send the request as `content-type: application/json`\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, told);
    }
    let most = state.server.max_body;
    let (room, body) = match look_in(context, &head.headers, body, most).await {
        Ok(read) => read,
        Err(error) => return refused(&error),
    };
    let (state, bytes) = (Arc::clone(state), body.len());
    // It may be large, and it may connect to others: neither is for this runtime.
    let explaining = async move {
        let _room = room;
        explained(&state, body, head).await
    };
    let flow = Flow::named("explain");
    context.lane.spawn(flow, bytes, explaining).await
}

async fn explained(state: &GatewayState, body: Bytes, head: Parts) -> Response<Full<Bytes>> {
    let question = ExplainRequest::read(body);
    let question = question.map(|question| told_by(question, head.uri.query(), head.headers));
    let explained = match question {
        Ok(question) => state.explain(&question).await,
        Err(error) => Err(error),
    };
    match explained {
        Ok(explanation) => json_page(StatusCode::OK, &explanation),
        Err(error) => refused(&error),
    }
}

/// What the query says, which counts more than the envelope, and what the headers
/// say where the envelope has none.
fn told_by(
    mut question: ExplainRequest,
    query: Option<&str>,
    headers: HeaderMap,
) -> ExplainRequest {
    let (mut told_path, mut told_dialect) = (false, None);
    for pair in query.unwrap_or_default().split('&') {
        let Some((name, value)) = pair.split_once('=') else {
            continue;
        };
        let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "path" => {
                question.path = Some(value);
                told_path = true;
            }
            "dialect" => told_dialect = Some(value),
            "route" => question.route = Some(value),
            "as" => question.key = Some(value),
            _ => {}
        }
    }
    if told_dialect.is_some() {
        question.dialect = told_dialect;
        if !told_path {
            question.path = None;
        }
    }
    if question.headers.is_empty() {
        question.headers = headers;
    }
    question
}

/// Browsers send no JSON to others without asking them first.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn refused(error: &Error) -> Response<Full<Bytes>> {
    let status = Front::Chat.codec().write_error(error).status;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut answer = json_page(status, &json!({ "error": error.message() }));
    if let Some(wait) = error.retry_after() {
        let seconds = HeaderValue::from(wait.as_secs().max(1));
        answer.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    answer
}
