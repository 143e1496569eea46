//! Keeps every call that a request makes to a provider, for its record.
//!
//! A gate that admits every attempt: the chain and the describers tell it what they send
//! and how it ended, whatever becomes of their futures. The sinks learn of each call when
//! it begins. May use `clip`, `outcome` and `record`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use majordomo::chain::{
    AttemptEnd, AttemptGate, AttemptKind, AttemptPermit, AttemptReport, GateDecision, GatePass,
    PendingAttempt,
};
use majordomo::llm::{HeuristicEstimator, TokenEstimator};
use majordomo_ledger::SettleClass;

use crate::clip::clip;
use crate::outcome::MAX_TARGET_LABEL;
use crate::record::{CallOutcome, Sinks, StartedCall, UpstreamCall, UsageSource};

/// The calls of one request.
pub(crate) struct CallJournal {
    /// For permits, which outlive a borrow.
    this: Weak<Self>,
    arrived: Instant,
    /// The request's id.
    id: Arc<str>,
    sinks: Arc<Sinks>,
    calls: Mutex<Vec<JournalEntry>>,
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
    /// The journal of a request that arrived then.
    pub(crate) fn new(id: Arc<str>, arrived: Instant, sinks: Arc<Sinks>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            arrived,
            id,
            sinks,
            calls: Mutex::default(),
        })
    }

    /// Takes the calls of a request that is over after `took`. A call that is still open,
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

    /// The calls so far, if none is under way.
    pub(crate) fn settled(&self) -> Option<Vec<UpstreamCall>> {
        let entries = self.calls();
        let sent = entries
            .iter()
            .filter(|entry| entry.state != EntryState::NotSent);
        let settled =
            |entry: &JournalEntry| (entry.state == EntryState::Settled).then(|| entry.call.clone());
        sent.map(settled).collect()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<JournalEntry>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AttemptGate for CallJournal {
    fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
        let mut call = UpstreamCall::open(attempt.kind);
        clip(attempt.target.as_str(), MAX_TARGET_LABEL).clone_into(&mut call.target);
        call.at = attempt.began.saturating_duration_since(self.arrived);
        // By length alone: the target's own estimate would read all of the text.
        call.usage.input = match attempt.kind {
            AttemptKind::Embed => attempt.input_tokens(),
            _ => HeuristicEstimator.estimate(attempt.request),
        };
        let mut calls = self.calls();
        let index = calls.len();
        self.sinks.calling(&StartedCall {
            id: &self.id,
            number: u32::try_from(index + 1).unwrap_or(u32::MAX),
            kind: attempt.kind,
            target: &call.target,
            at: call.at,
        });
        calls.push(JournalEntry {
            call,
            state: EntryState::Open,
        });
        GateDecision::admit(GatePass::new(JournalPermit {
            journal: Weak::clone(&self.this),
            index,
        }))
    }
}

struct JournalPermit {
    journal: Weak<CallJournal>,
    index: usize,
}

impl AttemptPermit for JournalPermit {
    fn settle(self: Box<Self>, report: AttemptReport) {
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
    }
}

impl UpstreamCall {
    /// A call that is under way, of which nothing is known but its input.
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
            usage_source: UsageSource::Estimated,
            settle: SettleClass::Estimated,
            price: None,
            cost: None,
        }
    }

    /// Completes the call. Until now its usage was our estimate of its input.
    fn settle(&mut self, report: &AttemptReport) {
        self.took = report.took;
        self.first_token = report.first_token;
        (self.outcome, self.class, self.status) = match report.end {
            AttemptEnd::Served => (CallOutcome::Served, None, None),
            AttemptEnd::Failed { class, status } => (CallOutcome::Failed, Some(class), status),
            _ => (CallOutcome::Cancelled, None, None),
        };
        let estimated = self.usage.input;
        self.usage = report.usage();
        let served = self.outcome == CallOutcome::Served;
        self.usage_source = match report.reported {
            Some(_) if served => UsageSource::Reported,
            Some(_) => UsageSource::Partial,
            // An error response is not billed.
            None if self.outcome == CallOutcome::Failed && report.received_bytes == 0 => {
                UsageSource::Unknown
            }
            None if self.kind == AttemptKind::Count => UsageSource::Unknown,
            None => {
                self.usage.input = estimated;
                UsageSource::Estimated
            }
        };
    }
}
