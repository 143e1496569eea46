//! A gate that keeps books of every attempt.

use std::sync::{Arc, Mutex};

use majordomo::chain::{
    AttemptGate, AttemptKind, AttemptPermit, AttemptReport, GateDecision, GatePass, GateRefusal,
    PendingAttempt,
};

use super::stepwise::pause;

/// The gate's decision about an attempt.
#[derive(Clone)]
pub(super) enum Ruling {
    Admit,
    Limit(u64),
    Refuse(&'static str),
}

/// Every attempt that entered, and its reports.
#[derive(Default)]
pub(super) struct Books {
    pub(super) entries: Mutex<Vec<Entry>>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) target: String,
    pub(super) kind: AttemptKind,
    pub(super) input_tokens: u64,
    pub(super) max_tokens: Option<u64>,
    pub(super) reports: Vec<AttemptReport>,
}

impl Books {
    pub(super) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().expect("no panic").clone()
    }

    /// The targets that entered, in order.
    pub(super) fn targets(&self) -> Vec<String> {
        self.entries().into_iter().map(|e| e.target).collect()
    }

    /// The only report of each attempt, in order of entry.
    pub(super) fn reports(&self) -> Vec<AttemptReport> {
        let entries = self.entries();
        for entry in &entries {
            assert_eq!(entry.reports.len(), 1, "one outcome each: {entries:#?}");
        }
        entries.iter().map(|entry| entry.reports[0]).collect()
    }
}

/// A gate that rules by target.
pub(super) struct TestGate {
    pub(super) books: Arc<Books>,
    pub(super) rule: fn(&str) -> Ruling,
    /// Whether it must be awaited.
    pub(super) waits: bool,
}

impl TestGate {
    pub(super) fn new(rule: fn(&str) -> Ruling) -> (Arc<Self>, Arc<Books>) {
        let books = Arc::<Books>::default();
        let gate = Self {
            books: Arc::clone(&books),
            rule,
            waits: false,
        };
        (Arc::new(gate), books)
    }

    fn decide(&self, attempt: &PendingAttempt<'_>) -> Result<GatePass, GateRefusal> {
        let ruling = (self.rule)(attempt.target.as_str());
        if let Ruling::Refuse(reason) = ruling {
            return Err(GateRefusal::new(reason));
        }
        let mut entries = self.books.entries.lock().expect("no panic");
        let permit = Permit(Arc::clone(&self.books), entries.len());
        entries.push(Entry {
            target: attempt.target.to_string(),
            kind: attempt.kind,
            input_tokens: attempt.input_tokens(),
            max_tokens: attempt.request.prompt().max_tokens,
            reports: Vec::new(),
        });
        let pass = GatePass::new(permit);
        Ok(match ruling {
            Ruling::Limit(tokens) => pass.max_tokens(tokens),
            _ => pass,
        })
    }
}

impl AttemptGate for TestGate {
    fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
        if !self.waits {
            return GateDecision::Now(self.decide(attempt));
        }
        let attempt = *attempt;
        GateDecision::Later(Box::pin(async move {
            pause().await;
            let decided = self.decide(&attempt);
            pause().await;
            decided
        }))
    }
}

struct Permit(Arc<Books>, usize);

impl AttemptPermit for Permit {
    fn settle(self: Box<Self>, report: AttemptReport) {
        let mut entries = self.0.entries.lock().expect("no panic");
        entries[self.1].reports.push(report);
    }
}
