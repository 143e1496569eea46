//! Admits a caller: charges its request rates and takes the seats of its levels.

use majordomo_limits::{Permit, Refusal};
use tokio::time::timeout;

use crate::quota::CallerLimits;

/// Charges one request and waits for seats. A refusal takes both back; dropping the future
/// leaves the queues.
pub(super) async fn admit_caller(caller: &CallerLimits) -> Result<Vec<Permit>, Refusal> {
    let charge = caller.stack().charge_request(caller.now())?;
    let mut seats = Vec::new();
    for level in caller.stack().seats() {
        let seat = match level.seats.try_acquire(level.flow, 1) {
            Some(seat) => Some(seat),
            None => {
                let waiting = timeout(level.queue, level.seats.acquire(level.flow, 1));
                waiting.await.ok().and_then(Result::ok)
            }
        };
        match seat {
            Some(seat) => seats.push(seat),
            None => {
                charge.undo();
                return Err(level.refusal());
            }
        }
    }
    Ok(seats)
}
