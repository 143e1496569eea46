//! Keeps every call that a request makes to a provider, for its record.
//!
//! It is a gate: the chain and the describers report each call and its outcome to it, even if
//! their futures are dropped. It admits every attempt for which the caller's limits can be
//! reserved. Sinks are notified when a call begins. May use `clip`, `clock`, `identity`,
//! `outcome`, `pricing`, `quota` and `record`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use majordomo::Usage;
use majordomo::chain::{
    AttemptEnd, AttemptGate, AttemptKind, AttemptPermit, AttemptReport, GateDecision, GatePass,
    PendingAttempt,
};
use majordomo::llm::{HeuristicEstimator, TokenEstimator};
use majordomo_ledger::{Cost, Quantities, SettleClass};
use tokio::time::timeout_at;

use crate::clip::clip;
use crate::clock::unix_millis;
use crate::identity::CallerIdentity;
use crate::outcome::MAX_TARGET_LABEL;
use crate::pricing::Pricing;
use crate::quota::{AttemptHold, AttemptLimits, HoldOutcome};
use crate::record::{CallOutcome, Sinks, StartedCall, UpstreamCall, UsageSource, cost_of};

/// The calls of one request.
pub(crate) struct CallJournal {
    /// For permits, which outlive a borrow.
    this: Weak<Self>,
    request: JournalRequest,
    sinks: Arc<Sinks>,
    calls: Mutex<Vec<JournalEntry>>,
    /// The limits of the caller.
    limits: Option<AttemptLimits>,
}

/// The request whose calls are kept.
pub(crate) struct JournalRequest {
    pub(crate) id: Arc<str>,
    /// When it arrived, by both clocks.
    pub(crate) began: Instant,
    pub(crate) arrived: SystemTime,
    pub(crate) caller: CallerIdentity,
    pub(crate) model: Arc<str>,
    /// The prices of its calls.
    pub(crate) pricing: Arc<Pricing>,
}

struct JournalEntry {
    call: UpstreamCall,
    state: EntryState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryState {
    Open,
    Settled,
    NotSent,
}

impl CallJournal {
    /// The journal of a request, within the caller's limits.
    pub(crate) fn new(
        request: JournalRequest,
        sinks: Arc<Sinks>,
        limits: Option<AttemptLimits>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            request,
            sinks,
            calls: Mutex::default(),
            limits,
        })
    }

    /// The limits on the attempts.
    pub(crate) fn limits(&self) -> Option<&AttemptLimits> {
        self.limits.as_ref()
    }

    /// Takes the calls of a request that ended after `took`. A call that is still open,
    /// because its future is dropped elsewhere, counts as cancelled.
    pub(crate) fn close(&self, took: Duration) -> Vec<UpstreamCall> {
        let entries = std::mem::take(&mut *self.calls());
        let sent = entries
            .into_iter()
            .filter(|entry| entry.state != EntryState::NotSent);
        let mut calls: Vec<UpstreamCall> = sent
            .map(|mut entry| {
                if entry.state == EntryState::Open {
                    entry.call.took = took.saturating_sub(entry.call.at);
                }
                entry.call
            })
            .collect();
        for (number, call) in (1..).zip(&mut calls) {
            call.number = number;
        }
        calls
    }

    /// The cost of the calls so far, if there was one, none is in progress and all prices are
    /// known.
    pub(crate) fn cost(&self) -> Option<Cost> {
        let entries = self.calls();
        let mut sent = entries
            .iter()
            .filter(|entry| entry.state != EntryState::NotSent)
            .peekable();
        sent.peek()?;
        let settled = |entry: &JournalEntry| {
            let ended = entry.state == EntryState::Settled;
            ended.then(|| cost_of(&entry.call)).flatten()
        };
        sent.map(settled).sum()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<JournalEntry>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AttemptGate for CallJournal {
    fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
        let bounded = self.limits.as_ref();
        let bounded = bounded.and_then(|limits| Some((limits, limits.bound(attempt)?)));
        let Some((limits, mut bound)) = bounded else {
            return GateDecision::admit(self.admit(attempt, None));
        };
        match limits.hold(&mut bound) {
            HoldOutcome::Held(hold) => GateDecision::admit(self.admit(attempt, Some(hold))),
            HoldOutcome::Refused(refusal) => GateDecision::refuse(refusal),
            HoldOutcome::Waiting(mut wait) => {
                let attempt = *attempt;
                GateDecision::Later(Box::pin(async move {
                    let waiting = limits.wait().begin();
                    let mut late = false;
                    loop {
                        if timeout_at(waiting.until, wait.replied()).await.is_err() {
                            if late || !limits.expire(&wait) {
                                return Err(limits.refused(wait.refusal()));
                            }
                            late = true;
                        }
                        match limits.hold(&mut bound) {
                            HoldOutcome::Held(hold) => {
                                return Ok(self.admit(&attempt, Some(hold)));
                            }
                            HoldOutcome::Refused(refusal) => return Err(refusal),
                            HoldOutcome::Waiting(next) => wait = next,
                        }
                    }
                }))
            }
        }
    }
}

impl CallJournal {
    /// Opens the entry of an attempt that is about to be sent.
    fn admit(&self, attempt: &PendingAttempt<'_>, hold: Option<AttemptHold>) -> GatePass {
        let mut call = UpstreamCall::open(attempt.kind);
        clip(attempt.target.as_str(), MAX_TARGET_LABEL).clone_into(&mut call.target);
        let request = &self.request;
        call.at = attempt.began.saturating_duration_since(request.began);
        // By length alone: the target's own estimate would read all of the text.
        call.usage.input = match (&hold, attempt.kind) {
            (Some(hold), _) => hold.input,
            (None, AttemptKind::Embed | AttemptKind::Image) => attempt.input_tokens(),
            (None, _) => HeuristicEstimator.estimate(attempt.request),
        };
        // The price at its start, even if the configuration changes before its end.
        let at = i64::try_from(call.at.as_millis()).unwrap_or(i64::MAX);
        let at = unix_millis(request.arrived).saturating_add(at);
        call.price = match &hold {
            Some(hold) => hold.card.clone(),
            None => request.pricing.price(&call.target, at),
        };
        call.images = attempt.images;
        call.client_paid = attempt.client_paid;
        let estimated = call.quantities();
        let price = call.price.as_ref();
        let mut calls = self.calls();
        let index = calls.len();
        self.sinks.calling(&StartedCall {
            id: &request.id,
            number: u32::try_from(index + 1).unwrap_or(u32::MAX),
            kind: attempt.kind,
            target: &call.target,
            at: call.at,
            caller: &request.caller,
            model: &request.model,
            input_estimate: call.usage.input,
            cost_estimate: match call.client_paid {
                true => Some(Cost::ZERO),
                false => price.and_then(|price| price.cost(&estimated)),
            },
        });
        calls.push(JournalEntry {
            call,
            state: EntryState::Open,
        });
        let estimated = calls.last().map_or(0, |entry| entry.call.usage.input);
        let max_tokens = hold.as_ref().and_then(|hold| hold.max_tokens);
        let pass = GatePass::new(JournalPermit {
            journal: Weak::clone(&self.this),
            index,
            kind: attempt.kind,
            estimated,
            images: attempt.images,
            hold,
        });
        match max_tokens {
            Some(most) => pass.max_tokens(most),
            None => pass,
        }
    }
}

struct JournalPermit {
    journal: Weak<CallJournal>,
    index: usize,
    kind: AttemptKind,
    /// The estimated input tokens.
    estimated: u64,
    /// The number of images that it requests.
    images: u64,
    hold: Option<AttemptHold>,
}

impl AttemptPermit for JournalPermit {
    fn settle(mut self: Box<Self>, report: AttemptReport) {
        let (usage, source) = settled_usage(self.kind, self.estimated, &report);
        let images = match report.end {
            AttemptEnd::Served => report.images,
            _ if source == UsageSource::Unknown => 0,
            // The model may have drawn them.
            _ => self.images,
        };
        // An attempt that was not sent gives its reservation back by dropping it.
        if report.end != AttemptEnd::NotSent
            && let Some(hold) = self.hold.take()
        {
            let used = Quantities {
                images,
                ..Quantities::from(&usage)
            };
            hold.settle((source != UsageSource::Unknown).then_some(&used));
        }
        let Some(journal) = self.journal.upgrade() else {
            return;
        };
        let mut calls = journal.calls();
        // The journal of a finished request is empty.
        let Some(entry) = calls.get_mut(self.index) else {
            return;
        };
        entry.state = match report.end {
            AttemptEnd::NotSent => EntryState::NotSent,
            _ => EntryState::Settled,
        };
        entry.call.settle(&report);
        (entry.call.usage, entry.call.usage_source) = (usage, source);
        entry.call.images = images;
    }
}

/// The usage of an attempt, and how it is known.
fn settled_usage(
    kind: AttemptKind,
    estimated: u64,
    report: &AttemptReport,
) -> (Usage, UsageSource) {
    let mut usage = report.usage();
    let source = match (report.reported, report.end) {
        (Some(_), AttemptEnd::Served) => UsageSource::Reported,
        (Some(_), _) => UsageSource::Partial,
        // An error response is not billed; without any response, the model may have run.
        (None, AttemptEnd::Failed { .. }) if report.received_bytes == 0 && !report.may_have_run => {
            UsageSource::Unknown
        }
        (None, _) if kind == AttemptKind::Count => UsageSource::Unknown,
        // Priced per image if no tokens are reported.
        (None, _) if kind == AttemptKind::Image => UsageSource::Estimated,
        (None, _) => {
            usage.input = estimated;
            UsageSource::Estimated
        }
    };
    (usage, source)
}

impl UpstreamCall {
    /// A call in progress, of which only the input is known.
    fn open(kind: AttemptKind) -> Self {
        Self {
            number: 0,
            kind,
            target: String::new(),
            at: Duration::ZERO,
            took: Duration::ZERO,
            first_token: None,
            outcome: CallOutcome::Cancelled,
            class: None,
            status: None,
            usage: Default::default(),
            images: 0,
            usage_source: UsageSource::Estimated,
            settle: SettleClass::Estimated,
            client_paid: false,
            price: None,
            cost: None,
        }
    }

    /// Completes the call, except for its usage.
    fn settle(&mut self, report: &AttemptReport) {
        self.took = report.took;
        self.first_token = report.first_token;
        (self.outcome, self.class, self.status) = match report.end {
            AttemptEnd::Served => (CallOutcome::Served, None, None),
            AttemptEnd::Failed { class, status } => (CallOutcome::Failed, Some(class), status),
            _ => (CallOutcome::Cancelled, None, None),
        };
    }
}

#[cfg(test)]
mod tests;
