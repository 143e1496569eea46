//! Maps a request's error to the one that its client sees.
//!
//! The status depends on why the targets failed, because agents react to it: they shorten the
//! conversation, back off or give up. Pure; knows no HTTP.

use majordomo::llm::{Attempt, AttemptOutcome};
use majordomo::{Class, Error, ErrorKind};
use majordomo_wire::ClientError;

use crate::refusal::RequestError;

/// The error that the client sees for a request that was not served.
pub(crate) fn for_client(error: &RequestError) -> ClientError {
    match error {
        RequestError::Refused(refusal) => ClientError::from(refusal),
        RequestError::Failed(error) if error.kind() == ErrorKind::Exhausted => exhausted(error),
        RequestError::Failed(error) => ClientError::from(error),
    }
}

/// Gives an exhausted chain's error the status that tells the client what to do.
fn exhausted(error: &Error) -> ClientError {
    let classes: Vec<Option<Class>> = error.attempt_log().attempts.iter().map(class).collect();
    let all = |test: fn(Class) -> bool| {
        !classes.is_empty() && classes.iter().all(|class| class.is_some_and(test))
    };
    let benched = classes.iter().all(Option::is_none);
    let (status, class) = if all(|class| class == Class::ModelNotFound) {
        (404, Class::ModelNotFound)
    } else if all(|class| class == Class::ContextLength) {
        (400, Class::ContextLength)
    } else if all(Class::is_incapable) {
        (400, Class::Unsupported)
    } else if all(|class| class == Class::Forbidden) {
        // No configured credential is at fault.
        (403, Class::Forbidden)
    } else if let Some(status @ (503 | 529)) = error.status() {
        // Every target reported the same overload, which the client's own retries handle.
        (status, Class::Local)
    } else if error.status() == Some(429)
        || !benched && error.attempt_log().attempts.iter().all(throttled)
    {
        (429, Class::RateLimited)
    } else {
        (if benched { 503 } else { 502 }, Class::Local)
    };
    let client_error =
        ClientError::new(status, class, error.report()).with_retry_after(error.retry_after());
    match class.is_incapable() {
        true => client_error.with_code(error.code()),
        false => client_error,
    }
}

/// Whether a target is throttled. A benched one counts as throttled; a 429 without
/// `Retry-After` is retried like a transient failure but still counts.
fn throttled(attempt: &Attempt) -> bool {
    match &attempt.outcome {
        AttemptOutcome::Failed {
            status: Some(429), ..
        } => true,
        _ => class(attempt).is_none_or(|class| matches!(class, Class::RateLimited | Class::Quota)),
    }
}

/// Whether retrying the request is pointless: the chain gave up, and none of its targets
/// failed temporarily.
pub(crate) fn is_final(error: &RequestError) -> bool {
    match error {
        RequestError::Refused(_) => false,
        RequestError::Failed(error) => {
            matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::Denied)
                && !error.is_retryable()
        }
    }
}

/// Why a target did not serve; none if benched.
fn class(attempt: &Attempt) -> Option<Class> {
    match &attempt.outcome {
        AttemptOutcome::Failed { class, .. } => Some(*class),
        AttemptOutcome::Skipped { class, .. } => *class,
        AttemptOutcome::Served => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use majordomo::llm::AttemptLog;

    use super::*;
    use crate::fronts::Front;

    fn exhausted_with(classes: &[Option<Class>]) -> Error {
        let outcome = |class: &Option<Class>| match class {
            Some(class) => AttemptOutcome::Failed {
                class: *class,
                status: None,
                reason: "x".into(),
            },
            None => AttemptOutcome::Skipped {
                reason: "benched".into(),
                class: None,
            },
        };
        exhausted_after(classes.iter().map(outcome))
    }

    fn exhausted_after(outcomes: impl Iterator<Item = AttemptOutcome>) -> Error {
        let attempt = |outcome| Attempt {
            target: "p/m".into(),
            at: Duration::ZERO,
            took: Duration::ZERO,
            changes: Vec::new(),
            outcome,
        };
        let attempts = outcomes.map(attempt).collect();
        Error::new(ErrorKind::Exhausted, "every target failed")
            .with_attempt_log(AttemptLog::new(attempts))
    }

    #[test]
    fn a_429_without_retry_after_stays_a_429() {
        let failed = |status| AttemptOutcome::Failed {
            class: Class::Transient,
            status: Some(status),
            reason: "x".into(),
        };
        for (statuses, status) in [([429, 429], 429), ([429, 500], 502)] {
            let error = for_client(&exhausted_after(statuses.into_iter().map(failed)).into());
            assert_eq!(error.status, status, "{statuses:?}");
        }
    }

    #[test]
    fn a_gateway_that_decodes_too_many_images_sends_retry_after() {
        let error = for_client(&majordomo::media::Problem::Busy.into_error(1).into());
        for front in [
            Front::Chat,
            Front::Messages,
            Front::Gemini,
            Front::OllamaChat,
        ] {
            let reply = front.codec().write_client_error(&error);
            assert_eq!(reply.status, 503, "{front:?}");
            let wait = reply
                .headers
                .iter()
                .find(|(name, _)| *name == "retry-after");
            assert_eq!(wait.map(|(_, value)| &**value), Some("1"), "{front:?}");
        }
    }

    #[test]
    fn the_status_of_an_exhausted_chain_follows_the_failure_classes() {
        use Class as C;
        let rows: [(&[Option<Class>], u16); 11] = [
            (&[Some(C::Forbidden), Some(C::Forbidden)], 403),
            (&[Some(C::Forbidden), Some(C::Transient)], 502),
            (&[Some(C::Unsupported), Some(C::Unsupported)], 400),
            (&[Some(C::Unsupported), Some(C::ModelNotFound)], 400),
            (&[Some(C::ModelNotFound)], 404),
            (&[Some(C::ContextLength)], 400),
            (&[Some(C::RateLimited), Some(C::RateLimited)], 429),
            (&[Some(C::RateLimited), None], 429),
            (&[Some(C::RateLimited), Some(C::Transient)], 502),
            (&[Some(C::Transient), Some(C::Unsupported)], 502),
            (&[None, None], 503),
        ];
        for (classes, status) in rows {
            for front in [
                Front::Chat,
                Front::Messages,
                Front::Gemini,
                Front::OllamaChat,
            ] {
                let error = for_client(&exhausted_with(classes).into());
                let reply = front.codec().write_client_error(&error);
                assert_eq!(reply.status, status, "{front:?} {classes:?}");
            }
        }
    }
}
