//! `POST /api/playground`: a client's request, sent by the page and charged to a key that the
//! user names.
//!
//! The body is a client's body, `path` the path to which the client would send it, and `key`
//! the name of a key, whose models, limits and budgets apply. A gateway without keys needs no
//! name.

use std::sync::Arc;

use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use majordomo_limits::Flow;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::body::OperatorBody;
use super::explain::is_json;
use super::lifetime::Lifetime;
use super::relayed_body::{PATIENCE, RelayedBody, WAITING, relay};
use super::usage::parameter;
use super::{error_response, json_page, text};
use crate::capture::CaptureWriter;
use crate::keys::ClientKey;
use crate::ledger_sink::now_millis;
use crate::server::{InsideRequest, ServerContext, admit_body_without_seat, serve_inside};
use crate::state::GatewayState;

/// Marks these requests in reports.
const TAG: &str = "via=playground";

/// Sends the request and relays its response.
pub(super) async fn respond(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    lifetime: Lifetime,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    let (head, body) = request.into_parts();
    if !is_json(&head.headers) {
        let hint = "send the request as `content-type: application/json`\n";
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, hint);
    }
    let query = head.uri.query().unwrap_or_default();
    let path = parameter(query, "path").unwrap_or_else(|| "/v1/chat/completions".to_owned());
    let Some(uri) = path
        .parse::<Uri>()
        .ok()
        .filter(|uri| uri.authority().is_none())
    else {
        return refuse(StatusCode::BAD_REQUEST, "`path` is not a path of a client");
    };
    let key = match payer(context, parameter(query, "key")) {
        Ok(key) => key,
        Err((status, reason)) => return refuse(status, &reason),
    };
    let max_body = state.server.max_body;
    let read = admit_body_without_seat(context, &head.headers, body, max_body).await;
    let (permit, body) = match read {
        Ok(read) => read,
        Err(refusal) => return error_response(&refusal),
    };
    let bytes = body.len();
    let inside = InsideRequest {
        uri,
        body,
        key,
        tag: TAG.into(),
    };
    let (server, state) = (Arc::clone(context), Arc::clone(state));
    let (head_sender, mut head) = oneshot::channel();
    let (chunks, waiting) = mpsc::channel(WAITING);
    // Connections to providers belong to another runtime than the operator's.
    let job = context
        .lane
        .spawn(Flow::named("operator"), bytes, async move {
            let _permit = permit;
            if let Some((response, _seats)) = serve_inside(&server, &state, inside).await {
                let (mut parts, body) = response.into_parts();
                let captured = parts.extensions.remove::<CaptureWriter>();
                if head_sender.send(parts).is_ok() {
                    relay(body, chunks, captured).await;
                }
            }
        });
    let parts = loop {
        lifetime.extend();
        // A model may think for longer than the usual lifetime of a connection.
        if let Ok(parts) = timeout(PATIENCE, &mut head).await {
            break parts;
        }
    };
    let Ok(parts) = parts else {
        return refuse(StatusCode::NOT_FOUND, "this `path` calls no model");
    };
    let body = OperatorBody::relayed(RelayedBody::new(waiting, job, lifetime));
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    for (name, value) in &parts.headers {
        let ours = name.as_str().starts_with("x-majordomo-");
        if ours || [header::CONTENT_TYPE, header::RETRY_AFTER].contains(name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let strict = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, strict);
    response
}

/// The key that is charged.
fn payer(
    context: &ServerContext,
    name: Option<String>,
) -> Result<Option<Arc<ClientKey>>, (StatusCode, String)> {
    let keys = context.keys();
    let Some(name) = name else {
        return match keys.is_keyless() {
            true => Ok(None),
            false => Err((
                StatusCode::BAD_REQUEST,
                "name the key to charge: `?key=NAME`".to_owned(),
            )),
        };
    };
    let Some(key) = keys.named(&name) else {
        return Err((StatusCode::NOT_FOUND, format!("there is no key `{name}`")));
    };
    match key.usable(now_millis()) {
        Ok(()) => Ok(Some(key)),
        Err(refusal) => Err((StatusCode::FORBIDDEN, refusal.to_string())),
    }
}

fn refuse(status: StatusCode, reason: &str) -> Response<OperatorBody> {
    json_page(status, &json!({ "error": reason }))
}
