//! Admits a caller: charges its request rates and takes the seats of its levels.

use majordomo_limits::{ChargeOutcome, Permit, Refusal, RequestCharge, SeatQueue};
use tokio::time::{timeout, timeout_at};

use crate::quota::CallerLimits;

/// Charges one request and waits for seats. A refusal takes both back; dropping the future
/// leaves the queues.
pub(super) async fn admit_caller(caller: &CallerLimits) -> Result<Vec<Permit>, Refusal> {
    let charge = charge(caller).await?;
    let mut seats = Vec::new();
    for level in caller.stack().seats(caller.now().monotonic) {
        match take_seat(caller, &level).await {
            Some(seat) => seats.push(seat),
            None => {
                charge.undo(caller.now().monotonic);
                return Err(level.refusal());
            }
        }
    }
    Ok(seats)
}

/// Charges one request, and asks the store that nodes share if this node's lease is too small.
async fn charge(caller: &CallerLimits) -> Result<RequestCharge, Refusal> {
    let mut outcome = caller.stack().charge_request(caller.now());
    if !matches!(outcome, ChargeOutcome::Waiting(_)) {
        // Away from a limit, no clock is read for a wait.
        return decided(outcome);
    }
    let waiting = caller.wait.begin();
    let mut late = false;
    while let ChargeOutcome::Waiting(wait) = &outcome {
        if timeout_at(waiting.until, wait.replied()).await.is_err() {
            if late || !wait.expire(caller.now().monotonic) {
                return Err(wait.refusal());
            }
            late = true;
        }
        outcome = caller.stack().charge_request(caller.now());
    }
    decided(outcome)
}

fn decided(outcome: ChargeOutcome) -> Result<RequestCharge, Refusal> {
    match outcome {
        ChargeOutcome::Charged(charge) => Ok(charge),
        ChargeOutcome::Refused(refusal) => Err(refusal),
        ChargeOutcome::Waiting(wait) => Err(wait.refusal()),
    }
}

async fn take_seat(caller: &CallerLimits, level: &SeatQueue) -> Option<Permit> {
    if let Some(seat) = level.seats.try_acquire(level.flow, 1) {
        return Some(seat);
    }
    let mut queued = std::pin::pin!(level.seats.acquire(level.flow, 1));
    if let Some(asking) = &level.asking {
        // The store may have seats for this node.
        let waiting = caller.wait.begin();
        tokio::select! {
            seat = &mut queued => return seat.ok(),
            replied = timeout_at(waiting.until, asking.replied()) => {
                if replied.is_err() {
                    asking.expire(caller.now().monotonic);
                }
            }
        }
    }
    timeout(level.queue, queued).await.ok()?.ok()
}
