//! Gives the server span the ids that were sent to providers.
//!
//! Spans are built after a request has ended, and the SDK asks a generator for their ids. The
//! ids of the next span on a thread can be set beforehand.

use std::cell::Cell;

use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

use crate::record::SpanIds;

thread_local! {
    static NEXT: Cell<Option<SpanIds>> = const { Cell::new(None) };
}

/// Random ids, unless the next ones are set.
#[derive(Debug, Default)]
pub(super) struct PresetIds(RandomIdGenerator);

impl PresetIds {
    /// Runs `build`, whose first span gets these ids.
    pub(super) fn with<T>(ids: Option<SpanIds>, build: impl FnOnce() -> T) -> T {
        NEXT.set(ids);
        let built = build();
        NEXT.set(None);
        built
    }
}

impl IdGenerator for PresetIds {
    fn new_trace_id(&self) -> TraceId {
        match NEXT.get() {
            Some(ids) => TraceId::from_bytes(ids.trace),
            None => self.0.new_trace_id(),
        }
    }

    fn new_span_id(&self) -> SpanId {
        match NEXT.get() {
            Some(ids) => SpanId::from_bytes(ids.span),
            None => self.0.new_span_id(),
        }
    }
}
