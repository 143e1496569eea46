//! Recent requests and their outcomes.
//!
//! Bounded in number and bytes; the oldest are evicted. A finished request costs one
//! short lock and no formatting: records are kept as they are, and serialized when
//! queried. May use `config`, `outcome`, `record`, `routes` and the types of `trust`.

mod request_trace;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use request_trace::RequestTrace;

use crate::config::ServerSettings;
use crate::record::{FinishedRequest, Needs, RequestKind, RequestSink};

/// Maximum refused requests. They are kept separately, so that callers without a key cannot
/// evict other requests.
const MOST_REFUSED: usize = 50;

/// A bounded ring of recent requests.
pub(crate) struct Traces {
    kept: AtomicBool,
    ring: Mutex<TraceRing>,
}

struct TraceRing {
    records: VecDeque<(usize, Arc<FinishedRequest>)>,
    /// Requests that were refused before their model was known.
    refused: VecDeque<Arc<FinishedRequest>>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl Traces {
    pub(crate) fn new(server: &ServerSettings) -> Self {
        let traces = Self {
            kept: AtomicBool::new(false),
            ring: Mutex::new(TraceRing {
                records: VecDeque::new(),
                refused: VecDeque::new(),
                bytes: 0,
                most: 0,
                most_bytes: 0,
            }),
        };
        traces.resize(server);
        traces
    }

    /// Applies another configuration, and evicts records that exceed it.
    pub(crate) fn resize(&self, server: &ServerSettings) {
        let mut ring = self.ring();
        ring.most = server.traces;
        ring.most_bytes = usize::try_from(server.trace_bytes).unwrap_or(usize::MAX);
        self.kept.store(ring.most > 0, Ordering::Relaxed);
        let evicted = ring.shrink();
        drop(ring);
        drop(evicted);
    }

    /// Whether tracing is enabled.
    fn are_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Keeps a record.
    fn keep(&self, record: Arc<FinishedRequest>) {
        let bytes = request_trace::weight(&record);
        let mut ring = self.ring();
        ring.bytes += bytes;
        ring.records.push_back((bytes, record));
        let evicted = ring.shrink();
        // Free evicted records outside the lock.
        drop(ring);
        drop(evicted);
    }

    /// Keeps the record of a refusal.
    fn keep_refused(&self, record: Arc<FinishedRequest>) {
        let mut ring = self.ring();
        ring.refused.push_back(record);
        let evicted = match ring.refused.len() > MOST_REFUSED.min(ring.most) {
            true => ring.refused.pop_front(),
            false => None,
        };
        drop(ring);
        drop(evicted);
    }

    /// The recent requests in their JSON form, latest first, without refusals that name no
    /// model.
    pub(crate) fn latest(&self) -> Vec<RequestTrace> {
        let ring = self.ring();
        let records = ring.records.iter().rev();
        let traces = records.map(|(_, record)| RequestTrace(Arc::clone(record)));
        traces.collect()
    }

    /// The records of recent requests, latest first.
    pub(crate) fn records(&self) -> Vec<Arc<FinishedRequest>> {
        let ring = self.ring();
        let served = ring.records.iter().map(|(_, record)| record);
        let mut records: Vec<_> = served.chain(&ring.refused).rev().cloned().collect();
        if !ring.refused.is_empty() {
            drop(ring);
            records.sort_by_key(|record| std::cmp::Reverse(record.arrived));
        }
        records
    }

    /// The record of a recent request.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<FinishedRequest>> {
        let ring = self.ring();
        let served = ring.records.iter().map(|(_, record)| record);
        let mut records = ring.refused.iter().chain(served).rev();
        records.find(|record| &*record.id == id).cloned()
    }

    /// A recent request in its JSON form.
    pub(crate) fn trace(&self, id: &str) -> Option<RequestTrace> {
        self.find(id).map(RequestTrace)
    }

    fn ring(&self) -> MutexGuard<'_, TraceRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestSink for Traces {
    fn needs(&self) -> Needs {
        Needs {
            candidates: self.are_kept(),
            ..Needs::default()
        }
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        if !self.are_kept() {
            return;
        }
        if !record.model.is_empty() {
            self.keep(Arc::clone(record));
        } else if record.kind != RequestKind::Other {
            self.keep_refused(Arc::clone(record));
        }
    }
}

impl TraceRing {
    /// Evicts the oldest records beyond the limits.
    fn shrink(&mut self) -> Option<Vec<Arc<FinishedRequest>>> {
        let mut evicted = Vec::new();
        while self.refused.len() > self.most {
            evicted.extend(self.refused.pop_front());
        }
        while self.records.len() > self.most || self.bytes > self.most_bytes {
            let (bytes, record) = self.records.pop_front()?;
            self.bytes -= bytes;
            evicted.push(record);
        }
        Some(evicted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(traces: usize, trace_bytes: u64) -> ServerSettings {
        let mut server = ServerSettings::default();
        server.traces = traces;
        server.trace_bytes = trace_bytes;
        server
    }

    fn record(n: usize, model: &str) -> Arc<FinishedRequest> {
        Arc::new(FinishedRequest {
            id: n.to_string().into(),
            model: model.to_owned(),
            ..FinishedRequest::default()
        })
    }

    fn ids(traces: &Traces) -> Vec<String> {
        let latest = traces.latest();
        latest.iter().map(|trace| trace.0.id.to_string()).collect()
    }

    #[test]
    fn the_oldest_are_evicted_and_the_latest_come_first() {
        let traces = Traces::new(&server(3, 1 << 20));
        for n in 0..5 {
            traces.keep(record(n, "m"));
        }
        assert_eq!(ids(&traces), ["4", "3", "2"]);
    }

    #[test]
    fn records_stay_within_the_byte_limit() {
        let traces = Traces::new(&server(1_000, 64 << 10));
        for n in 0..1_000 {
            traces.keep(record(n, &"x".repeat(200)));
            assert!(traces.ring().bytes <= 64 << 10);
        }
        assert!(ids(&traces).len() > 20, "most of the budget is used");
        let weights: usize = traces.ring().records.iter().map(|(bytes, _)| bytes).sum();
        assert_eq!(weights, traces.ring().bytes);
    }

    #[test]
    fn zero_disables_tracing_and_a_reload_applies_immediately() {
        let traces = Traces::new(&server(0, 1 << 20));
        assert!(!traces.are_kept());
        traces.resize(&server(4, 1 << 20));
        for n in 0..4 {
            traces.keep(record(n, "m"));
        }
        traces.resize(&server(1, 1 << 20));
        assert_eq!(ids(&traces), ["3"]);
        traces.resize(&server(4, 16));
        assert!(ids(&traces).is_empty());
    }
}
