//! The way in: room for a request's bytes, the bytes themselves, and a seat.

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Incoming};
use majordomo::Result;
use majordomo_limits::Flow;
use tokio::task::yield_now;

use super::admission::{Admission, Permit, overloaded};
use super::context::ServerContext;
use super::intake::{Intake, Pace, acceptable};

/// Reads a request's body and lets it in, at once or through the queue. Dropping
/// this gives back whatever it held, its place in the queue included.
pub(super) async fn enter(
    admission: &Admission,
    flow: Flow,
    body: Incoming,
    most: u64,
    pace: Pace<'_>,
) -> Result<(Permit, Bytes)> {
    let mut intake = Intake::new(body, most);
    let mut patience = admission.patience(flow);
    let mut permit = match admission.room_now(flow) {
        Some(permit) => permit,
        None => tokio::select! {
            permit = patience.room() => permit?,
            never = intake.ahead() => match never {},
        },
    };
    let body = intake.read(&mut permit, pace).await?;
    if !patience.seat_now(&mut permit) {
        patience.seat(&mut permit).await?;
        // A client that left while it waited is seen before anybody is asked.
        yield_now().await;
    }
    Ok((permit, body))
}

/// Reads a body that is looked at and not served, such as a question of the
/// operator's. It takes room like any other but no seat, and does not wait: where
/// there is no room, those who are served come first.
pub(crate) async fn look_in(
    context: &ServerContext,
    headers: &HeaderMap,
    body: Incoming,
    most: u64,
) -> Result<(Permit, Bytes)> {
    let announced = body.size_hint().lower();
    acceptable(headers, announced, most)?;
    let room = context.admission().room_now(Flow::named("operator"));
    let mut permit = room.ok_or_else(overloaded)?;
    let timeout = context.state.load().server.body_timeout;
    let mut intake = Intake::new(body, most);
    let pace = Pace {
        limits: &context.limits,
        timeout,
    };
    let body = intake.read(&mut permit, pace).await?;
    Ok((permit, body))
}
