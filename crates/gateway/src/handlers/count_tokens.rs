//! Token counting, in the dialects that offer it.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;

use super::client_context::with_client_context;
use super::generate::{invalid, json, undecodable};
use crate::admitted::AdmittedRequest;
use crate::fronts::Front;
use crate::refusal::Result;
use crate::respond::fail;
use crate::response_body::Body;
use crate::state::GatewayState;

/// Returns the provider's count if it has one, else an estimate.
pub(crate) async fn count_tokens(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    mut admitted: AdmittedRequest,
) -> Response<Body> {
    match count(state, front, model, &mut admitted).await {
        Ok(body) => {
            admitted.exchange.complete(majordomo::Usage::default());
            let mut http_response = json(body);
            crate::response_headers::describe(
                http_response.headers_mut(),
                front,
                &admitted.exchange,
            );
            http_response
        }
        Err(error) => fail(front, admitted.exchange, error),
    }
}

async fn count(
    state: &Arc<GatewayState>,
    front: Front,
    model: Option<String>,
    admitted: &mut AdmittedRequest,
) -> Result<Bytes> {
    let counter = front.codec().count_tokens();
    let counter = counter.ok_or_else(|| invalid("this dialect has no token counting"))?;
    let body = std::mem::take(&mut admitted.body);
    state.server.max_counts.check_body(&body)?;
    let incoming = counter.read_request(body).map_err(undecodable)?;
    state.server.max_counts.check(&incoming.request)?;
    let named = model.or(incoming.model).filter(|model| !model.is_empty());
    let model = named.ok_or_else(|| invalid("the request names no model"))?;
    admitted.exchange.set_model(&model);
    admitted.allow(&model)?;
    let request = with_client_context(incoming.request, front, state, admitted);
    let plan = state.plan_count(&model, request, admitted).await?;
    admitted.exchange.add_changes(plan.changes);
    let (chain, request) = (plan.chain, plan.request);
    admitted.exchange.routed(&chain, plan.trace, Some(&request));
    let chain = chain.gated_by(admitted.exchange.gate(&state.pricing));
    let counted = chain.token_count(request).await;
    admitted.exchange.add_changes(counted.changes);
    Ok(counter.write_response(counted.tokens))
}
