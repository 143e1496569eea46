//! `GET /v1/key`: the state of a key, for its holder.

use bytes::Bytes;
use http::{HeaderValue, Response};
use majordomo::Usage;
use majordomo_ledger::UsageSums;
use serde_json::{Value, json};

use super::context::ServerContext;
use crate::exchange::Exchange;
use crate::keys::ClientKey;
use crate::quota::{CallerLimits, remaining};
use crate::response_body::Body;
use crate::stored_keys::{add_policy, timestamp};

/// Responds with the state of the client's own key. It costs nothing and needs no seat.
pub(super) async fn key_status(
    context: &ServerContext,
    limits: Option<&CallerLimits>,
    key: Option<&ClientKey>,
    mut exchange: Exchange,
) -> Response<Body> {
    let mut body = match key {
        Some(key) => described(key),
        // Without keys, there is no state to report.
        None => json!({ "name": null }),
    };
    if let Some(limits) = limits {
        body["remaining"] = remaining(limits).await.into();
    }
    if let (Some(key), Some(ledger)) = (key, context.ledger())
        && let Some(usage) = context.usage_by_key.read(ledger).await
    {
        let (today, thirty_days) = usage.of(key.name());
        body["usage"] = json!({ "today": sums(&today), "thirty_days": sums(&thirty_days) });
    }
    exchange.complete(Usage::default());
    let mut response = Response::new(Body::from(Bytes::from(body.to_string())));
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

fn described(key: &ClientKey) -> Value {
    let models = key.models().map(|models| {
        let names = models.iter().map(ToString::to_string);
        names.collect::<Vec<_>>()
    });
    let mut body = json!({
        "name": key.name(),
        "team": key.team(),
        "role": key.role().to_string(),
        "models": models,
        "expires": key.expires_millis().map(timestamp),
    });
    if let Some(fields) = body.as_object_mut() {
        add_policy(fields, key.limits());
    }
    body
}

fn sums(sums: &UsageSums) -> Value {
    json!({
        "requests": sums.requests,
        "input_tokens": sums.input,
        "output_tokens": sums.output,
        "cost_usd": sums.cost.to_string(),
        "unpriced_attempts": sums.unpriced,
    })
}
