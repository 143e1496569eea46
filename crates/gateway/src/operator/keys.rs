//! `/api/keys`, `/api/teams` and `/api/audit`.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use super::body::OperatorBody;
use super::explain::is_json;
use super::json_page;
use crate::ledger_sink::now_millis;
use crate::server::{ServerContext, admit_body_without_seat};
use crate::state::GatewayState;
use crate::stored_keys::{AccessReply, AccessRequest, FileEntries};

/// Largest body.
const MAX_BODY: u64 = 64 * 1024;

/// Reads a request, executes it on the store, and replies. `who` is written to the audit log.
pub(super) async fn respond(
    context: &ServerContext,
    state: &GatewayState,
    who: String,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    let reply = answer(context, state, who, request).await;
    let status = StatusCode::from_u16(reply.status);
    json_page(
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        &reply.body,
    )
}

async fn answer(
    context: &ServerContext,
    state: &GatewayState,
    who: String,
    request: Request<Incoming>,
) -> AccessReply {
    let (head, body) = request.into_parts();
    let read = admit_body_without_seat(context, &head.headers, body, MAX_BODY).await;
    let (_permit, body) = match read {
        Ok(read) => read,
        Err(refusal) => return AccessReply::error(refusal.status(), refusal.message()),
    };
    if !body.is_empty() && !is_json(&head.headers) {
        let text = "send the request as `content-type: application/json`";
        return AccessReply::error(415, text);
    }
    let query = head.uri.query().unwrap_or_default();
    let request = AccessRequest::read(&head.method, head.uri.path(), query, &body, now_millis());
    let request = match request {
        Ok(request) => request,
        Err((status, text)) => return AccessReply::error(status, text),
    };
    let Some(access) = context.access.load_full() else {
        let text = "keys are not stored: `store` in [ledger] is \"off\", or there is no state \
                    folder";
        return AccessReply::error(404, text);
    };
    let file = Arc::new(FileEntries::of(state.config()));
    access.call(request, who, file).await
}
