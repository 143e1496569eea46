//! Admits a request: reserves bytes, reads the body, acquires a seat.

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Incoming};
use majordomo_limits::Flow;
use tokio::task::yield_now;

use super::admission::{Admission, RequestPermit, overloaded};
use super::body_reader::{BodyReader, Pace, check_body_headers};
use super::context::ServerContext;
use crate::refusal::RequestRefusal;

/// Reads a request's body and admits it, immediately or through the queue. Dropping the
/// future releases everything it holds, including its position in the queue. A refusal comes
/// with what is left of the body.
pub(super) async fn admit_body(
    admission: &Admission,
    flow: Flow,
    body: Incoming,
    limit: u64,
    pace: Pace<'_>,
) -> Result<(RequestPermit, Bytes), (RequestRefusal, Option<Incoming>)> {
    let mut reader = BodyReader::new(body, limit);
    let mut wait_budget = admission.wait_budget(flow);
    let reserved = match admission.try_reserve(flow) {
        Some(permit) => Ok(permit),
        None => tokio::select! {
            permit = wait_budget.reserve() => permit,
            never = reader.prefetch() => match never {},
        },
    };
    let read = match reserved {
        Ok(mut permit) => {
            let read = reader.read_to_end(&mut permit, pace).await;
            read.map(|body| (permit, body))
        }
        Err(refusal) => Err(refusal),
    };
    let (mut permit, body) = read.map_err(|refusal| {
        let unread = reader.into_unread(&refusal);
        (refusal, unread)
    })?;
    if !wait_budget.try_seat(&mut permit) {
        let seated = wait_budget.seat(&mut permit).await;
        seated.map_err(|refusal| (refusal, None))?;
        // Lets hyper detect a client that disconnected in the queue before any target
        // is called.
        yield_now().await;
    }
    Ok((permit, body))
}

/// Reads a body that is inspected and not served, such as an operator's dry run. It
/// reserves bytes but takes no seat, and never waits: client requests have priority.
pub(crate) async fn admit_body_without_seat(
    context: &ServerContext,
    headers: &HeaderMap,
    body: Incoming,
    limit: u64,
) -> Result<(RequestPermit, Bytes), RequestRefusal> {
    let announced = body.size_hint().lower();
    check_body_headers(headers, announced, limit)?;
    let permit = context.admission().try_reserve(Flow::named("operator"));
    let mut permit = permit.ok_or_else(overloaded)?;
    let timeout = context.state.load().server.body_timeout;
    let mut reader = BodyReader::new(body, limit);
    let pace = Pace {
        limits: &context.limits,
        timeout,
    };
    let body = reader.read_to_end(&mut permit, pace).await?;
    Ok((permit, body))
}
