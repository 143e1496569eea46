//! Embeddings: passed through to a target of the same dialect, with route, chain and
//! health.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use majordomo::{AttemptLog, Request, Result, Usage};
use majordomo_wire::model_of;

use super::generate::{invalid, json, unreadable};
use crate::admitted::AdmittedRequest;
use crate::fronts::Front;
use crate::respond::refuse;
use crate::response_body::Body;
use crate::state::GatewayState;

/// Answers with what the target said, byte for byte.
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
            let mut answer = json(body);
            crate::response_headers::describe(answer.headers_mut(), front, exchange);
            answer
        }
        Err(error) => refuse(front, admitted.exchange, error),
    }
}

async fn embedded(
    state: &Arc<GatewayState>,
    front: Front,
    admitted: &mut AdmittedRequest,
) -> Result<(Bytes, AttemptLog)> {
    let body = std::mem::take(&mut admitted.body);
    let model = model_of(&body).map_err(unreadable)?;
    let model = model.ok_or_else(|| invalid("the request names no model"))?;
    admitted.exchange.asks_for(&model);
    admitted.allow(&model)?;
    // What is embedded is not read, so that rules see a request that says nothing.
    let nothing = Request::default();
    let (chain, trace) = state
        .plan_unprocessed(&model, &nothing, admitted, true)
        .await?;
    admitted.exchange.goes_to(&chain, trace);
    #[cfg(feature = "otel")]
    admitted.exchange.asks(None);
    chain.embed(front.dialect(), body).await
}
