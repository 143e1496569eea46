//! Error responses in the client's own dialect.

use http::{HeaderMap, HeaderValue, Response, StatusCode};
use majordomo::ErrorKind;
use majordomo::llm::AttemptLog;
use majordomo_limits::Refusal;
use majordomo_wire::ClientError;

use crate::client_error::{for_client, is_final};
use crate::exchange::Exchange;
use crate::fronts::Front;
use crate::quota::{CallerLimits, refusal_error};
use crate::refusal::RequestError;
use crate::response_body::Body;
use crate::response_headers;

/// The response to a request that a limit refuses.
pub(crate) fn refuse(
    front: Front,
    mut exchange: Exchange,
    caller: &CallerLimits,
    refusal: &Refusal,
    attempts: AttemptLog,
) -> Response<Body> {
    let (error, final_one) = refusal_error(refusal, caller, front);
    let wait = error.retry_after();
    let error = RequestError::Failed(error.with_attempt_log(attempts));
    let mut response = error_response(front, &for_client(&error));
    exchange.failed(&error, response.status().as_u16());
    let map = response.headers_mut();
    if final_one {
        map.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    if let Some(wait) = wait {
        // OpenAI's and Anthropic's SDKs prefer it to whole seconds.
        insert(
            map,
            "retry-after-ms",
            &wait.as_nanos().div_ceil(1_000_000).to_string(),
        );
    }
    response_headers::describe(map, front, &exchange);
    response
}

/// The response to a failed request.
pub(crate) fn fail(
    front: Front,
    mut exchange: Exchange,
    error: impl Into<RequestError>,
) -> Response<Body> {
    let error = error.into();
    if let RequestError::Failed(error) = &error
        && error.kind() == ErrorKind::Denied
        && let Some(caller) = exchange.limits().cloned()
        && let Some(refusal) = exchange.refusal()
    {
        let attempts = error.attempt_log().clone();
        return refuse(front, exchange, &caller, &refusal, attempts);
    }
    let pointless = is_final(&error);
    let mut response = error_response(front, &for_client(&error));
    exchange.failed(&error, response.status().as_u16());
    let map = response.headers_mut();
    if pointless {
        // Some statuses would make SDKs retry.
        map.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    response_headers::describe(map, front, &exchange);
    response
}

/// An error in the dialect's format, without request headers.
pub(crate) fn error_response(front: Front, error: &ClientError) -> Response<Body> {
    let reply = front.codec().write_client_error(error);
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let map = response.headers_mut();
    map.insert("content-type", HeaderValue::from_static("application/json"));
    for (name, value) in reply.headers {
        insert(map, name, &value);
    }
    response
}

fn insert(map: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        map.insert(name, value);
    }
}
