//! The way in: room for a request's bytes, the bytes themselves, and a seat.

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Incoming};
use majordomo::Result;
use tokio::task::yield_now;

use super::admission::{Admission, Permit};
use super::house::House;
use super::intake::{Intake, acceptable};
use super::limits::Limits;

/// Lets a request in, at once or through the queue, and reads its body. Dropping
/// this gives back whatever it held, its place in the queue included.
pub(super) async fn enter(
    admission: &Admission,
    body: Incoming,
    most: u64,
    limits: &Limits,
) -> Result<(Permit, Bytes)> {
    let announced = body.size_hint().lower();
    let mut intake = Intake::new(body, most);
    if let Some(mut permit) = admission.admit(announced) {
        let body = intake.read(&mut permit, limits).await?;
        return Ok((permit, body));
    }
    let mut queued = admission.queue()?;
    let mut permit = tokio::select! {
        permit = queued.room(announced) => permit?,
        never = intake.ahead() => match never {},
    };
    let body = intake.read(&mut permit, limits).await?;
    queued.seat(&mut permit).await?;
    // A client that left while it waited is seen before anybody is asked.
    yield_now().await;
    Ok((permit, body))
}

/// Reads a body that is looked at and not served, such as a question of the
/// operator's. It takes room like any other but no seat, and does not wait: where
/// there is no room, those who are served come first.
pub(crate) async fn look_in(
    house: &House,
    headers: &HeaderMap,
    body: Incoming,
    most: u64,
) -> Result<(Permit, Bytes)> {
    let announced = body.size_hint().lower();
    acceptable(headers, announced, most)?;
    let mut permit = house.admission().room_now(announced)?;
    let mut intake = Intake::new(body, most);
    let body = intake.read(&mut permit, &house.limits).await?;
    Ok((permit, body))
}
