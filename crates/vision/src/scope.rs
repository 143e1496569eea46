//! The state of one client request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::cache::CacheKey;
use super::outcome::DescribeCall;
use super::single_flight::{CallOrigin, DescriptionResult};

/// One request of one client: its key, its descriptions so far, and the calls they took.
/// Clones share all of it, so a chain's second attempt does not call again.
#[derive(Clone)]
pub struct Scope(Arc<ScopeState>);

struct ScopeState {
    key: String,
    /// Index of the client's latest message; a repair appends messages after it.
    latest: OnceLock<usize>,
    result: Mutex<HashMap<CacheKey, (DescriptionResult, CallOrigin)>>,
    calls: Mutex<Vec<DescribeCall>>,
}

impl Scope {
    /// A request of the client with this key name; empty without keys. Descriptions are
    /// cached for that key alone.
    pub fn of_key(name: impl Into<String>) -> Self {
        Self(Arc::new(ScopeState {
            key: name.into(),
            latest: OnceLock::new(),
            result: Mutex::default(),
            calls: Mutex::default(),
        }))
    }

    /// All calls made for the request so far, by either entry point.
    pub fn calls(&self) -> Vec<DescribeCall> {
        lock(&self.0.calls).clone()
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
