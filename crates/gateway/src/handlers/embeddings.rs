//! Embeddings: forwarded to a target of the same dialect, with routing, failover and
//! health.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use majordomo::llm::AttemptLog;
use majordomo::{Request, Usage};
use majordomo_wire::model_of;

use super::client_context::client_context;
use super::generate::{invalid, json, undecodable};
use crate::admitted::AdmittedRequest;
use crate::fronts::Front;
use crate::refusal::Result;
use crate::respond::fail;
use crate::response_body::Body;
use crate::state::GatewayState;

/// Returns the target's response byte for byte.
pub(crate) async fn embed(
    state: &Arc<GatewayState>,
    front: Front,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    match embedded(state, front, &mut admitted).await {
        Ok((body, attempt_log)) => {
            let target = attempt_log
                .attempts
                .last()
                .map(|attempt| attempt.target.clone());
            let exchange = &mut admitted.exchange;
            exchange.served(target.as_deref().unwrap_or_default(), &attempt_log);
            exchange.complete(Usage::default());
            let mut http_response = json(body);
            crate::response_headers::describe(http_response.headers_mut(), front, exchange);
            http_response
        }
        Err(error) => fail(front, admitted.exchange, error),
    }
}

async fn embedded(
    state: &Arc<GatewayState>,
    front: Front,
    admitted: &mut AdmittedRequest,
) -> Result<(Bytes, AttemptLog)> {
    let body = std::mem::take(&mut admitted.body);
    let model = model_of(&body).map_err(undecodable)?;
    let model = model.ok_or_else(|| invalid("the request names no model"))?;
    admitted.exchange.set_model(&model);
    admitted.allow(&model)?;
    // The input is not decoded, so rules see an empty request.
    let empty_request = Request::default();
    let (chain, trace) = state
        .plan_unprocessed(&model, &empty_request, admitted)
        .await?;
    admitted.exchange.routed(&chain, trace, None);
    let chain = chain.gated_by(admitted.exchange.gate(&state.pricing));
    let context = client_context(front, state, admitted);
    let embedded = chain.forward_embeddings(front.dialect(), body, context);
    Ok(embedded.await?)
}
