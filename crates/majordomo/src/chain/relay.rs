//! Relays a committed stream to the caller.
//!
//! Yields exactly one terminal item, a `Finish` or an error. How the stream ended is reported
//! to health, observers and the gate; if the caller drops the stream, neither success nor
//! failure is reported, and the attempt is cancelled.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::{Class, Error, Result};
use tokio::time::{Instant, Sleep, sleep_until};

use super::commit::{Committed, Items, StreamElement, truncated};
use super::config::Classify;
use super::gate::{AdmittedAttempt, AttemptEnd};
use super::target::TargetPermit;
use super::walk::deadline_passed;
use crate::observe::{Notice, Observers};
use crate::spec::TargetName;

/// A committed stream with the permit of its target.
pub(super) struct Relay<T> {
    preamble: std::vec::IntoIter<T>,
    /// None after the terminal item.
    rest: Option<Items<T>>,
    permit: TargetPermit,
    attempt: AdmittedAttempt,
    target: TargetName,
    classify: Option<Classify>,
    observers: Observers,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<T: StreamElement> Relay<T> {
    pub(super) fn new(
        committed: Committed<T>,
        permit: TargetPermit,
        attempt: AdmittedAttempt,
        target: TargetName,
        classify: Option<Classify>,
        observers: Observers,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            preamble: committed.preamble.into_iter(),
            rest: Some(committed.rest),
            permit,
            attempt,
            target,
            classify,
            observers,
            deadline: deadline.map(|at| Box::pin(sleep_until(at))),
        }
    }

    fn yield_item(&mut self, item: T) -> Option<Result<T>> {
        if item.finish().is_some() {
            self.rest = None;
            self.observers.notify(&Notice::Served {
                target: self.target.as_str(),
            });
            self.permit.succeed();
            self.attempt.settle(AttemptEnd::Served);
        }
        Some(Ok(item))
    }

    fn fail(&mut self, error: Error) -> Option<Result<T>> {
        self.rest = None;
        let error = error.with_target(self.target.provider(), self.target.model());
        let class: Class = match &self.classify {
            Some(classify) => classify(&error),
            None => error.class(),
        };
        self.observers.notify(&Notice::Failed {
            target: self.target.as_str(),
            class,
            reason: &error.reason(),
        });
        self.permit.fail(class, &error);
        self.attempt.fail(class, &error);
        Some(Err(error))
    }
}

impl<T: StreamElement> Stream for Relay<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(item) = this.preamble.next() {
            return Poll::Ready(this.yield_item(item));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        match rest.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(item))) => {
                // The items of the preamble are counted already.
                let attempt = &mut this.attempt;
                attempt.observe(item.events(), item.content_bytes(), item.unreported());
                Poll::Ready(this.yield_item(item))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(this.fail(error)),
            Poll::Ready(None) => Poll::Ready(this.fail(truncated())),
            Poll::Pending => {
                let deadline = this.deadline.as_mut();
                if deadline.is_some_and(|at| at.as_mut().poll(cx).is_ready()) {
                    return Poll::Ready(this.fail(deadline_passed()));
                }
                Poll::Pending
            }
        }
    }
}
