//! A committed stream on its way to the caller.
//!
//! It gives exactly one terminal item, a `Finish` or an error, and nothing after
//! it. Health and observers learn how the stream ended; a caller who leaves
//! counts neither way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::{Class, Error, Event, EventStream, Result};
use tokio::time::{Instant, Sleep, sleep_until};

use super::config::Classify;
use super::executor::deadline_passed;
use super::open::{Opened, truncated};
use super::target::TargetPermit;
use crate::observe::{Notice, Observers};
use crate::spec::TargetName;

pub(super) struct Relay {
    preamble: std::vec::IntoIter<Event>,
    /// None after the terminal item.
    rest: Option<EventStream>,
    permit: TargetPermit,
    target: TargetName,
    classify: Option<Classify>,
    observers: Observers,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Relay {
    pub(super) fn new(
        opened: Opened,
        permit: TargetPermit,
        target: TargetName,
        classify: Option<Classify>,
        observers: Observers,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            preamble: opened.preamble.into_iter(),
            rest: Some(opened.rest),
            permit,
            target,
            classify,
            observers,
            deadline: deadline.map(|at| Box::pin(sleep_until(at))),
        }
    }

    fn give(&mut self, event: Event) -> Option<Result<Event>> {
        if matches!(event, Event::Finish(_)) {
            self.rest = None;
            self.observers.tell(&Notice::Served {
                target: self.target.as_str(),
            });
            self.permit.succeed();
        }
        Some(Ok(event))
    }

    fn fail(&mut self, error: Error) -> Option<Result<Event>> {
        self.rest = None;
        let error = error.with_target(self.target.provider(), self.target.model());
        let class: Class = match &self.classify {
            Some(classify) => classify(&error),
            None => error.class(),
        };
        self.observers.tell(&Notice::Failed {
            target: self.target.as_str(),
            class,
            reason: &error.reason(),
        });
        self.permit.fail(class.verdict().health, &error);
        Some(Err(error))
    }
}

impl Stream for Relay {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(event) = this.preamble.next() {
            return Poll::Ready(this.give(event));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        match rest.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(event))) => Poll::Ready(this.give(event)),
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
