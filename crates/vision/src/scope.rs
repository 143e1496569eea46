//! The state of one client request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use majordomo::Chain;
use majordomo::chain::{AttemptGate, AttemptKind, GateDecision, PendingAttempt};

use super::cache::{CacheKey, Description};
use super::outcome::DescribeCall;
use super::single_flight::{CallOrigin, DescriptionResult};

/// One request of one client: its key, its descriptions so far, and their calls. Clones share
/// this state, so a chain's second attempt does not call again.
#[derive(Clone)]
pub struct Scope(Arc<ScopeState>);

struct ScopeState {
    key: String,
    /// Index of the client's latest message; a repair appends messages after it.
    latest: OnceLock<usize>,
    result: Mutex<HashMap<CacheKey, (DescriptionResult, CallOrigin)>>,
    calls: Mutex<Vec<DescribeCall>>,
    /// Asked before every call.
    gate: Option<Arc<dyn AttemptGate>>,
    /// Whether the request is only counted, so that no describer will be called for it.
    counted: bool,
}

/// The descriptions by which images of a request were replaced, for a later
/// [preview](crate::Vision::preview) of the same request.
#[derive(Clone, Debug, Default)]
pub struct UsedDescriptions(HashMap<CacheKey, Description>);

/// What an entry takes besides its text.
const ENTRY_BYTES: usize = 96;

impl UsedDescriptions {
    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|text| text.len() + ENTRY_BYTES).sum()
    }
}

/// The gate of a request's chain, for calls that describe.
struct DescribeGate(Arc<dyn AttemptGate>);

impl AttemptGate for DescribeGate {
    fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
        self.0.enter(&attempt.of_kind(AttemptKind::Describe))
    }
}

impl Scope {
    /// A request of the client with this key name; empty without keys. Descriptions are cached
    /// only for that key.
    pub fn of_key(name: impl Into<String>) -> Self {
        Self::new(name.into(), None, false)
    }

    /// A request whose tokens are only counted: a preview has the descriptions that are known,
    /// and reports the others as missing.
    pub fn of_count(name: impl Into<String>) -> Self {
        Self::new(name.into(), None, true)
    }

    /// Like [`of_key`](Self::of_key); the gate is consulted before every call, with an attempt
    /// of the kind [`Describe`](AttemptKind::Describe).
    pub fn gated(name: impl Into<String>, gate: Arc<dyn AttemptGate>) -> Self {
        Self::new(name.into(), Some(gate), false)
    }

    /// A past request: a preview replaces its images by what replaced them then.
    pub fn of_past(name: impl Into<String>, used: &UsedDescriptions) -> Self {
        let scope = Self::of_key(name);
        for (key, text) in &used.0 {
            scope.store(*key, Ok(Arc::clone(text)), CallOrigin::Shared);
        }
        scope
    }

    /// The descriptions used so far.
    pub fn used(&self) -> UsedDescriptions {
        let results = lock(&self.0.result);
        let known = results.iter().filter_map(|(key, (result, _))| {
            let text = result.as_ref().ok()?;
            Some((*key, Arc::clone(text)))
        });
        UsedDescriptions(known.collect())
    }

    fn new(key: String, gate: Option<Arc<dyn AttemptGate>>, counted: bool) -> Self {
        Self(Arc::new(ScopeState {
            key,
            latest: OnceLock::new(),
            result: Mutex::default(),
            calls: Mutex::default(),
            gate,
            counted,
        }))
    }

    /// The chain, with the request's gate.
    pub(super) fn gate_of(&self, chain: &Chain) -> Chain {
        let chain = chain.clone();
        match &self.0.gate {
            Some(gate) => chain.gated_by(Arc::new(DescribeGate(Arc::clone(gate)))),
            None => chain,
        }
    }

    /// All calls made for the request so far, by either entry point.
    pub fn calls(&self) -> Vec<DescribeCall> {
        lock(&self.0.calls).clone()
    }

    pub(super) fn is_counted(&self) -> bool {
        self.0.counted
    }

    pub(super) fn key(&self) -> &str {
        &self.0.key
    }

    /// The first of the latest messages, as of the first evaluation.
    pub(super) fn latest_from(&self, look: impl FnOnce() -> usize) -> usize {
        *self.0.latest.get_or_init(look)
    }

    pub(super) fn result(&self, address: &CacheKey) -> Option<(DescriptionResult, CallOrigin)> {
        lock(&self.0.result).get(address).cloned()
    }

    pub(super) fn store(&self, address: CacheKey, result: DescriptionResult, origin: CallOrigin) {
        lock(&self.0.result).insert(address, (result, origin));
    }

    pub(super) fn add_call(&self, call: DescribeCall) {
        lock(&self.0.calls).push(call);
    }

    pub(super) fn call_count(&self) -> usize {
        lock(&self.0.calls).len()
    }

    pub(super) fn calls_since(&self, first: usize) -> Vec<DescribeCall> {
        let calls = lock(&self.0.calls);
        calls.get(first..).map(<[_]>::to_vec).unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
