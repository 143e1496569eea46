//! An attempt that passed the gate, from its admission to its settlement.

use std::sync::Arc;
use std::time::{Duration, Instant};

use majordomo_llm::{
    Class, Error, Event, OutputCount, OutputCounter, Part, Response, TokenizerFamily, Usage,
};

use super::{AttemptEnd, AttemptPermit, AttemptReport, PendingAttempt};
use crate::clock::Clock;

/// An admitted attempt; dropping it settles it as cancelled. Empty without a gate.
#[derive(Default)]
pub(in crate::chain) struct AdmittedAttempt(Option<Box<Metered>>);

/// The state of an attempt so far.
struct Metered {
    permit: Box<dyn AttemptPermit>,
    clock: Arc<dyn Clock>,
    tokenizer: TokenizerFamily,
    began: Instant,
    first_token: Option<Duration>,
    reported: Option<Usage>,
    received_bytes: u64,
    images: u64,
    counter: OutputCounter,
    /// The output that arrived since the provider's last report.
    unreported: OutputCount,
    may_have_run: bool,
}

impl AdmittedAttempt {
    pub(in crate::chain) fn new(
        permit: Option<Box<dyn AttemptPermit>>,
        clock: Arc<dyn Clock>,
        pending: &PendingAttempt<'_>,
    ) -> Self {
        Self(permit.map(|permit| {
            Box::new(Metered {
                permit,
                clock,
                tokenizer: TokenizerFamily::of(pending.target.model()),
                began: pending.began,
                first_token: None,
                reported: None,
                received_bytes: 0,
                images: 0,
                counter: OutputCounter::default(),
                unreported: OutputCount::default(),
                may_have_run: false,
            })
        }))
    }

    /// Counts an item of a stream: its events, its bytes of content, and its unreported
    /// output, if already counted.
    pub(in crate::chain) fn observe(
        &mut self,
        events: &[Event],
        content_bytes: usize,
        unreported: Option<OutputCount>,
    ) {
        let Some(attempt) = &mut self.0 else {
            return;
        };
        attempt.received_bytes += content_bytes as u64;
        for event in events {
            if let Event::Usage(usage) = event {
                attempt.report(*usage);
            }
            if unreported.is_none() {
                attempt.unreported += attempt.counter.event(event);
            }
            if attempt.first_token.is_none() && event.is_semantic() {
                attempt.first_token = Some(attempt.elapsed());
            }
        }
        attempt.unreported += unreported.unwrap_or_default();
    }

    /// Counts a whole response.
    pub(in crate::chain) fn received(&mut self, response: &Response) {
        if let Some(attempt) = &mut self.0 {
            attempt.report(response.usage);
            // The report of a whole response is final, even if the response is rejected.
            if attempt.reported.is_none() {
                let content = response.parts.iter().map(Part::content_len);
                attempt.received_bytes = content.sum::<usize>() as u64;
                for part in &response.parts {
                    attempt.unreported += attempt.counter.part(part);
                }
            }
        }
    }

    /// Counts usage that the provider reported, and images.
    pub(in crate::chain) fn used(&mut self, usage: Usage, images: usize) {
        if let Some(attempt) = &mut self.0 {
            attempt.report(usage);
            attempt.images = images as u64;
        }
    }

    /// Settles the attempt as failed.
    pub(in crate::chain) fn fail(&mut self, class: Class, error: &Error) {
        let status = error.status();
        if let Some(attempt) = &mut self.0 {
            attempt.may_have_run = error.kind().may_have_run();
        }
        self.settle(AttemptEnd::Failed { class, status });
    }

    /// Settles the attempt, unless it is settled already.
    pub(in crate::chain) fn settle(&mut self, end: AttemptEnd) {
        let Some(attempt) = self.0.take() else {
            return;
        };
        let report = AttemptReport {
            end,
            reported: attempt.reported,
            received_bytes: attempt.received_bytes,
            images: attempt.images,
            unreported_tokens: attempt.unreported.tokens(attempt.tokenizer),
            may_have_run: attempt.may_have_run,
            took: attempt.elapsed(),
            first_token: attempt.first_token,
        };
        attempt.permit.settle(report);
    }
}

impl Metered {
    /// Records the provider's usage; unknown usage consists of zeros.
    fn report(&mut self, usage: Usage) {
        if usage.total() > 0 {
            self.reported = Some(usage);
            // An opening report of the input alone covers no output.
            if usage.output > 0 {
                self.unreported = OutputCount::default();
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.now().saturating_duration_since(self.began)
    }
}

impl Drop for AdmittedAttempt {
    fn drop(&mut self) {
        self.settle(AttemptEnd::Cancelled);
    }
}
