//! How many tokens a request has, in the dialects that ask that.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use majordomo::{Error, Result};

use super::generate::{invalid, json, unreadable};
use crate::admitted::AdmittedRequest;
use crate::fronts::Front;
use crate::respond::refuse;
use crate::response_body::Body;
use crate::state::GatewayState;

/// Answers with the provider's own count where it has one, else with an estimate.
pub(crate) async fn count(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    match counted(state, front, model, &mut admitted).await {
        Ok(body) => {
            admitted.exchange.complete(majordomo::Usage::default());
            let mut answer = json(body);
            crate::response_headers::describe(answer.headers_mut(), front, &admitted.exchange);
            answer
        }
        Err(error) => refuse(front, admitted.exchange, error),
    }
}

async fn counted(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    admitted: &mut AdmittedRequest,
) -> Result<Bytes> {
    let counter = front.codec().count_tokens();
    let counter = counter.ok_or_else(|| invalid("this dialect counts no tokens"))?;
    let body = std::mem::take(&mut admitted.body);
    state.server.max_counts.check_body(&body)?;
    let incoming = counter.read_request(body).map_err(unreadable)?;
    state.server.max_counts.check(&incoming.request)?;
    let named = model.or(incoming.model).filter(|model| !model.is_empty());
    let model = named.ok_or_else(|| -> Error { invalid("the request names no model") })?;
    admitted.exchange.asks_for(&model);
    admitted.allow(&model)?;
    let request = incoming.request;
    let (chain, trace) = state
        .plan_unprocessed(&model, &request, admitted, false)
        .await?;
    admitted.exchange.goes_to(&chain, trace);
    let tokens = chain.count_tokens(request).await;
    Ok(counter.write_response(tokens))
}
