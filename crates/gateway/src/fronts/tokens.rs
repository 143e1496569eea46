//! How many tokens a request has, in the dialects that ask that.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use majordomo::{Error, Result};

use super::Front;
use super::ask::{invalid, json, unreadable};
use crate::arrival::Arrival;
use crate::refusal::refuse;
use crate::server::Body;
use crate::state::State;

/// Answers with the provider's own count where it has one, else with an estimate.
pub(crate) async fn count(
    state: &Arc<State>,
    front: Front,
    model: Option<String>,
    mut arrival: Arrival,
) -> Response<Body> {
    match counted(state, front, model, &mut arrival).await {
        Ok(body) => {
            arrival.exchange.complete(majordomo::Usage::default());
            let mut answer = json(body);
            crate::headers::describe(answer.headers_mut(), front, &arrival.exchange);
            answer
        }
        Err(error) => refuse(front, arrival.exchange, error),
    }
}

async fn counted(
    state: &Arc<State>,
    front: Front,
    model: Option<String>,
    arrival: &mut Arrival,
) -> Result<Bytes> {
    let counter = front.codec().count_tokens();
    let counter = counter.ok_or_else(|| invalid("this dialect counts no tokens"))?;
    let body = std::mem::take(&mut arrival.body);
    let incoming = counter.read_request(body).map_err(unreadable)?;
    state.server.max_counts.check(&incoming.request)?;
    let named = model.or(incoming.model).filter(|model| !model.is_empty());
    let model = named.ok_or_else(|| -> Error { invalid("the request names no model") })?;
    arrival.exchange.asks_for(&model);
    arrival.allow(&model)?;
    let request = incoming.request;
    let (chain, trace) = state.beside(&model, &request, arrival, false).await?;
    arrival.exchange.goes_to(&chain, trace);
    let tokens = chain.count_tokens(request).await;
    Ok(counter.write_response(tokens))
}
