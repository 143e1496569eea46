//! The Prometheus metrics of `/metrics`.
//!
//! Every request is counted once, when it ends, without taking a lock that requests wait for.
//! Clients can invent target names, so their number and length are bounded; no label holds
//! content or a key. `families` lists every metric; `/metrics` can show no others. May use
//! `clip`, `outcome` and `record`.

mod counter;
pub(crate) mod families;
mod histogram;
mod snapshot;
mod target_labels;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;

use http::StatusCode;
use majordomo::Usage;
use majordomo_ledger::Cost;

use counter::Counter;
pub(crate) use counter::Gauge;
#[cfg(feature = "otel")]
pub(crate) use counter::{Labelled, Labels};
pub(crate) use histogram::Histogram;
#[cfg(feature = "otel")]
pub(crate) use histogram::HistogramCounts;
use majordomo_vision::FROM_CACHE;
pub(crate) use snapshot::MetricsSnapshot;
#[cfg(feature = "otel")]
pub(crate) use snapshot::{FamilyValues, MetricNumber, MetricValues};
use target_labels::TargetLabels;

use crate::clip::clip;
use crate::outcome::MAX_TARGET_LABEL;
use crate::record::{
    CallOutcome, Description, FinishedRequest, RequestSink, StartedRequest, UpstreamCall,
};

/// All metrics of a gateway since its start.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) open_requests: Gauge,
    pub(crate) open_streams: Gauge,
    targets: TargetLabels,
    requests: Counter,
    attempts: Counter,
    failovers: Counter,
    tokens: Counter,
    images: Counter,
    descriptions: Counter,
    describe_tokens: Counter,
    token_portions: Counter,
    route_tokens: Counter,
    cost: Counter,
    unpriced: Counter,
    took: Histogram,
    first_token: Histogram,
}

impl Metrics {
    /// Gives each of these targets its own label, regardless of names that clients invent.
    pub(crate) fn configure(&self, targets: BTreeSet<String>) {
        self.targets.configure(targets);
    }

    /// The label of a target: its name, cut, or one for all names beyond a bound.
    pub(crate) fn target_label<'a>(&self, target: &'a str) -> &'a str {
        self.targets.label(clip(target, MAX_TARGET_LABEL))
    }

    /// Counts a finished request.
    pub(crate) fn record(&self, ended: &FinishedRequest) {
        let status = StatusCode::from_u16(ended.status).ok();
        let labels = [
            ("dialect", ended.dialect.as_str()),
            ("outcome", ended.outcome.name()),
            (
                "status",
                status.as_ref().map_or("other", StatusCode::as_str),
            ),
        ];
        self.requests.add(&labels, 1);
        for attempt in &ended.attempts {
            let target = self.targets.label(&attempt.target);
            let labels = [("target", target), ("outcome", attempt.outcome)];
            self.attempts.add(&labels, 1);
        }
        for pair in ended.attempts.windows(2) {
            if pair[0].target != pair[1].target {
                let from = self.targets.label(&pair[0].target);
                self.failovers.add(&[("from", from)], 1);
            }
        }
        let Usage { input, output, .. } = ended.usage;
        if let Some(target) = &ended.target {
            let target = self.target_label(target);
            for (kind, count) in [("input", input), ("output", output)] {
                if count > 0 {
                    let labels = [("target", target), ("kind", kind)];
                    self.tokens.add(&labels, count);
                }
            }
        }
        if let Some(route) = ended.route() {
            self.prompted(route, &ended.usage);
        }
        for call in &ended.calls {
            self.charged(call);
        }
        for change in ended.changes.iter().filter(|c| c.subject == "image") {
            let count = change.count.unwrap_or(1) as u64;
            self.images.add(&[("change", &*change.verb)], count);
            if change.verb == FROM_CACHE {
                self.descriptions.add(&[("outcome", "cache")], count);
            }
        }
        for description in &ended.descriptions {
            self.described(description);
        }
        self.took.observe(ended.took);
        if let Some(time) = ended.first_token {
            self.first_token.observe(time);
        }
    }

    /// Counts the prompt of a route's request, and the part that a provider's cache held.
    fn prompted(&self, route: &str, usage: &Usage) {
        for (kind, count) in [
            ("input", usage.input),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
        ] {
            if count > 0 {
                let labels = [("route", route), ("kind", kind)];
                self.route_tokens.add(&labels, count);
            }
        }
    }

    /// Counts the usage of a call. A call that failed before it used any tokens is free.
    fn charged(&self, call: &UpstreamCall) {
        if call.outcome == CallOutcome::Failed && call.usage == Usage::default() {
            return;
        }
        let target = self.target_label(&call.target);
        let Usage {
            cache_read,
            cache_write,
            cache_write_1h,
            reasoning,
            ..
        } = call.usage;
        let cache_write_5m = cache_write.saturating_sub(cache_write_1h);
        for (kind, count) in [
            ("cache_read", cache_read),
            ("cache_write_5m", cache_write_5m),
            ("cache_write_1h", cache_write_1h),
            ("reasoning", reasoning),
        ] {
            if count > 0 {
                let labels = [("target", target), ("kind", kind)];
                self.token_portions.add(&labels, count);
            }
        }
        match call.cost.map(Cost::nanodollars) {
            None => self.unpriced.add(&[("target", target)], 1),
            Some(cost) => {
                let cost = u64::try_from(cost).unwrap_or_default();
                self.cost.add(&[("target", target)], cost);
            }
        }
    }

    fn described(&self, description: &Description) {
        let target = &*description.target;
        let target = match target.is_empty() {
            true => target,
            false => self.target_label(target),
        };
        let labels = [("target", target), ("outcome", description.outcome)];
        self.descriptions.add(&labels, 1);
        let Usage { input, output, .. } = description.usage;
        for (kind, count) in [("input", input), ("output", output)] {
            if count > 0 {
                let labels = [("target", target), ("kind", kind)];
                self.describe_tokens.add(&labels, count);
            }
        }
    }

    /// A snapshot that begins with what this type counts.
    pub(crate) fn snapshot(&self) -> MetricsSnapshot {
        let mut snapshot = MetricsSnapshot::default();
        for (family, counter) in [
            (&families::REQUESTS, &self.requests),
            (&families::ATTEMPTS, &self.attempts),
            (&families::FAILOVERS, &self.failovers),
            (&families::TOKENS, &self.tokens),
            (&families::IMAGES_CHANGED, &self.images),
            (&families::DESCRIPTIONS, &self.descriptions),
            (&families::DESCRIBE_TOKENS, &self.describe_tokens),
            (&families::TOKEN_PORTIONS, &self.token_portions),
            (&families::ROUTE_TOKENS, &self.route_tokens),
            (&families::UNPRICED_CALLS, &self.unpriced),
        ] {
            snapshot.counter(family, counter);
        }
        snapshot.cost_counter(&families::COST, &self.cost);
        snapshot.value(&families::OPEN_REQUESTS, self.open_requests.get());
        snapshot.value(&families::OPEN_STREAMS, self.open_streams.get());
        snapshot.histogram(&families::REQUEST_SECONDS, &self.took);
        snapshot.histogram(&families::FIRST_TOKEN_SECONDS, &self.first_token);
        snapshot
    }
}

impl RequestSink for Metrics {
    fn started(&self, _request: &StartedRequest<'_>) {
        self.open_requests.up();
    }

    fn streaming(&self, _id: &str) {
        self.open_streams.up();
    }

    fn finished(&self, record: &Arc<FinishedRequest>) {
        if record.stream {
            self.open_streams.down();
        }
        self.open_requests.down();
        self.record(record);
    }
}

#[cfg(test)]
mod tests;
