//! `POST /api/try`: sends one short request to a model, as a client would.
//!
//! Used by the button on an empty page and by probes. From the handler on, the request takes
//! the same path as a client's, so it is routed, recorded and charged.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::BodyExt;
use majordomo_limits::Flow;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::body::OperatorBody;
use super::json_page;
use crate::admitted::AdmittedRequest;
use crate::clock::wall_clock;
use crate::exchange::{Arrival, Exchange};
use crate::fronts::{Endpoint, EndpointLabels, Front, StreamMode};
use crate::handlers;
use crate::heavy_lane::LaneHandle;
use crate::record::RequestKind;
use crate::request_id::request_id;
use crate::server::ServerContext;
use crate::state::GatewayState;

const PROMPT: &str = "Greet the operator of this gateway in one short sentence.";
/// Enough for a sentence, even from models that think first.
const MAX_TOKENS: u64 = 300;

#[derive(Deserialize)]
struct TryRequest {
    model: String,
}

/// The outcome of the request.
#[derive(Serialize)]
struct Tried {
    id: Arc<str>,
    status: u16,
    /// For the operator.
    message: String,
}

/// Tries the model that a JSON body names.
pub(super) async fn respond(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    body: &[u8],
) -> Response<OperatorBody> {
    match serde_json::from_slice::<TryRequest>(body) {
        Ok(asked) => try_model(context, state, &asked.model).await,
        Err(_) => {
            let body = json!({ "error": "send {\"model\": \"…\"}" });
            json_page(StatusCode::BAD_REQUEST, &body)
        }
    }
}

/// Sends a short streamed request and waits for its end.
pub(super) async fn try_model(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    model: &str,
) -> Response<OperatorBody> {
    let body = json!({
        "model": model,
        "stream": true,
        "max_tokens": MAX_TOKENS,
        "messages": [{ "role": "user", "content": PROMPT }],
    });
    let body = Bytes::from(body.to_string());
    let endpoint = Endpoint::Generate {
        front: Front::Chat,
        model: None,
        stream: StreamMode::FromBody,
    };
    let id = request_id(wall_clock());
    let arrival = Arrival {
        id: Arc::clone(&id),
        front: Front::Chat,
        kind: RequestKind::Generate,
        endpoint: EndpointLabels::of(&Method::POST, &endpoint),
        client: Some("the page"),
    };
    let flow = Flow::named("operator");
    let admitted = AdmittedRequest {
        headers: HeaderMap::new(),
        heavy: LaneHandle::new(&context.lane, flow, &body, context.limits.heavy),
        body,
        key: None,
        exchange: Exchange::new(arrival, context.sinks()),
    };
    let state = Arc::clone(state);
    // Connections to providers belong to another runtime than the operator's.
    let work = async move {
        let response =
            handlers::generate(&state, Front::Chat, None, StreamMode::FromBody, admitted).await;
        let (head, body) = response.into_parts();
        let ended = body.collect().await;
        (head.status, ended.is_ok())
    };
    let (status, complete) = context.lane.spawn(flow, 0, work).await;
    let message = match (status.is_success(), complete) {
        (true, true) => format!("{model} responded."),
        (true, false) => format!("{model} began to respond, and the stream broke off."),
        (false, _) => format!("{model} failed with status {}.", status.as_u16()),
    };
    let tried = Tried {
        id,
        status: status.as_u16(),
        message,
    };
    json_page(StatusCode::OK, &tried)
}
