//! The last requests, for whoever asks what became of them.
//!
//! Bounded in number and in bytes; the oldest make room. A request that ends costs
//! one short lock and no writing: text is made when somebody looks. What was said
//! in a request is never part of it.

mod record;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use record::{Described, Record};

use crate::config::ServerSettings;

/// What is remembered of the last requests.
pub(crate) struct Traces {
    kept: AtomicBool,
    ring: Mutex<Ring>,
}

struct Ring {
    records: VecDeque<(usize, Arc<Record>)>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

impl Traces {
    pub(crate) fn new(server: &ServerSettings) -> Self {
        let traces = Self {
            kept: AtomicBool::new(false),
            ring: Mutex::new(Ring {
                records: VecDeque::new(),
                bytes: 0,
                most: 0,
                most_bytes: 0,
            }),
        };
        traces.resize(server);
        traces
    }

    /// Goes by another configuration; what is too much then is forgotten.
    pub(crate) fn resize(&self, server: &ServerSettings) {
        let mut ring = self.ring();
        ring.most = server.traces;
        ring.most_bytes = usize::try_from(server.trace_bytes).unwrap_or(usize::MAX);
        self.kept.store(ring.most > 0, Ordering::Relaxed);
        let forgotten = ring.shrink();
        drop(ring);
        drop(forgotten);
    }

    /// Whether anything is remembered at all.
    pub(crate) fn are_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Remembers a request.
    pub(crate) fn keep(&self, mut record: Record) {
        record.bound();
        let bytes = record.weight();
        let record = Arc::new(record);
        let mut ring = self.ring();
        ring.bytes += bytes;
        ring.records.push_back((bytes, record));
        let forgotten = ring.shrink();
        // What is forgotten is freed when nobody waits for it.
        drop(ring);
        drop(forgotten);
    }

    /// The last requests, the latest first.
    pub(crate) fn latest(&self) -> Vec<Arc<Record>> {
        let ring = self.ring();
        let records = ring.records.iter().rev();
        records.map(|(_, record)| Arc::clone(record)).collect()
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// Takes out what is too much.
    fn shrink(&mut self) -> Option<Vec<Arc<Record>>> {
        let mut forgotten = Vec::new();
        while self.records.len() > self.most || self.bytes > self.most_bytes {
            let (bytes, record) = self.records.pop_front()?;
            self.bytes -= bytes;
            forgotten.push(record);
        }
        Some(forgotten)
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

    fn record(n: usize, model: &str) -> Record {
        Record {
            id: n.to_string().into(),
            model: model.to_owned(),
            ..record::tests::blank()
        }
    }

    fn ids(traces: &Traces) -> Vec<String> {
        let latest = traces.latest();
        latest.iter().map(|record| record.id.to_string()).collect()
    }

    #[test]
    fn the_oldest_make_room_and_the_latest_come_first() {
        let traces = Traces::new(&server(3, 1 << 20));
        for n in 0..5 {
            traces.keep(record(n, "m"));
        }
        assert_eq!(ids(&traces), ["4", "3", "2"]);
    }

    #[test]
    fn they_stay_within_their_bytes() {
        let traces = Traces::new(&server(1_000, 64 << 10));
        for n in 0..1_000 {
            traces.keep(record(n, &"x".repeat(200)));
            assert!(traces.ring().bytes <= 64 << 10);
        }
        assert!(ids(&traces).len() > 20, "most of the room is used");
        let weights: usize = traces.ring().records.iter().map(|(bytes, _)| bytes).sum();
        assert_eq!(weights, traces.ring().bytes);
    }

    #[test]
    fn none_are_kept_where_none_are_wanted_and_a_reload_counts_at_once() {
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
