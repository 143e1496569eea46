//! A committed stream on its way to the caller.
//!
//! It gives exactly one terminal item, a `Finish` or an error, and nothing after
//! it. Health and observers learn how the stream ended; a caller who leaves
//! counts neither way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use majordomo_llm::{Class, Error, Result};
use tokio::time::{Instant, Sleep, sleep_until};

use super::config::Classify;
use super::executor::deadline_passed;
use super::open::{Item, Items, Opened, truncated};
use super::target::TargetPermit;
use crate::observe::{Notice, Observers};
use crate::spec::TargetName;

pub(super) struct Relay<T> {
    preamble: std::vec::IntoIter<T>,
    /// None after the terminal item.
    rest: Option<Items<T>>,
    permit: TargetPermit,
    target: TargetName,
    classify: Option<Classify>,
    observers: Observers,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<T: Item> Relay<T> {
    pub(super) fn new(
        opened: Opened<T>,
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

    fn give(&mut self, item: T) -> Option<Result<T>> {
        if item.finish().is_some() {
            self.rest = None;
            self.observers.tell(&Notice::Served {
                target: self.target.as_str(),
            });
            self.permit.succeed();
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
        self.observers.tell(&Notice::Failed {
            target: self.target.as_str(),
            class,
            reason: &error.reason(),
        });
        self.permit.fail(class, &error);
        Some(Err(error))
    }
}

impl<T: Item> Stream for Relay<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(item) = this.preamble.next() {
            return Poll::Ready(this.give(item));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        match rest.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(item))) => Poll::Ready(this.give(item)),
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
