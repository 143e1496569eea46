//! Refusals as sentences, and as errors of a dialect.

use std::time::Duration;

use jiff::Timestamp;
use majordomo::{Error, ErrorKind};
use majordomo_limits::{Refusal, RefusedBy};

use super::alerts::usd;
use super::caller::CallerLimits;
use crate::clock::{unix_millis, wall_clock};
use crate::fronts::Front;

/// A budget whose window ends this soon is worth a retry.
const NEAR: Duration = Duration::from_secs(60);

/// The refusal as a sentence.
pub(crate) fn sentence(refusal: &Refusal, caller: &CallerLimits) -> String {
    let level = &refusal.level;
    match &refusal.limit {
        RefusedBy::Requests(limit) => {
            format!("{level} may send {limit} requests per minute; retry later")
        }
        RefusedBy::Tokens(limit) => {
            format!("{level} may use {limit} tokens per minute; retry later")
        }
        RefusedBy::Concurrent(limit) => {
            format!("{level} may have {limit} requests at the same time; retry later")
        }
        RefusedBy::Budget {
            window,
            reset_day,
            limit,
            left,
            ..
        } => {
            let reset = reset_day.and_then(|day| {
                let start = Timestamp::from_millisecond(caller.start_of(day)).ok()?;
                Some(format!("; it resets at {start}"))
            });
            format!(
                "the budget of {level} does not cover this request: {} of {} USD ({}) are left{}",
                usd(*left),
                usd(*limit),
                window.name(),
                reset.unwrap_or_default()
            )
        }
        RefusedBy::Unpriced => format!(
            "{level} has a budget, and the price of the model is unknown: set it in [prices], \
             or `unpriced = \"allow\"`"
        ),
        RefusedBy::Unreachable(window) => format!(
            "the {} budget of {level} cannot be checked: its store does not respond; retry later",
            window.name()
        ),
        _ => format!("{level} has reached a limit"),
    }
}

/// The error for a client of this dialect, and whether it must not be retried.
pub(crate) fn refusal_error(
    refusal: &Refusal,
    caller: &CallerLimits,
    front: Front,
) -> (Error, bool) {
    let text = sentence(refusal, caller);
    match &refusal.limit {
        RefusedBy::Budget { reset_day, .. } => {
            let reset = reset_day.map(|day| caller.start_of(day));
            let wait = reset.map(|at| at.saturating_sub(unix_millis(wall_clock())));
            let wait = wait.and_then(|millis| u64::try_from(millis).ok());
            let near = wait.map(Duration::from_millis).filter(|wait| *wait <= NEAR);
            (out_of_money(&text, front).with_retry_after(near), true)
        }
        RefusedBy::Unpriced => (out_of_money(&text, front), true),
        RefusedBy::Unreachable(_) => {
            let error = Error::new(ErrorKind::Denied, text).with_status(503);
            (error.with_retry_after(refusal.retry_after), false)
        }
        _ => {
            let error = Error::new(ErrorKind::Denied, text).with_status(429);
            let error = error.with_code("rate_limit_exceeded");
            (error.with_retry_after(refusal.retry_after), false)
        }
    }
}

/// The quota error of a dialect.
fn out_of_money(text: &str, front: Front) -> Error {
    let status = if front == Front::Messages { 402 } else { 429 };
    let error = Error::new(ErrorKind::Denied, text).with_status(status);
    error.with_code("insufficient_quota")
}
