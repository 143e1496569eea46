//! The Prometheus metrics of `/metrics`.
//!
//! Every request is counted once, when it ends, without taking a lock that requests
//! wait for. Clients can invent target names, so their number and length are bounded;
//! no label holds content or a key. May use `clip`, `outcome`
//! and `record`.

mod counter;
mod histogram;
mod target_labels;
mod text;

use std::collections::BTreeSet;
use std::sync::Arc;

use majordomo::Usage;
use majordomo::health::HealthStatus;
use majordomo_ledger::Cost;

use counter::Counter;
pub(crate) use counter::Gauge;
use histogram::Histogram;
use majordomo_vision::FROM_CACHE;
use target_labels::TargetLabels;
use text::MetricsPage;

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
    /// Gives these targets a label of their own, regardless of names that clients
    /// invent.
    pub(crate) fn configure(&self, targets: BTreeSet<String>) {
        self.targets.configure(targets);
    }

    /// Counts a finished request.
    pub(crate) fn record(&self, ended: &FinishedRequest) {
        let status = ended.status.to_string();
        let labels = [
            ("dialect", ended.dialect.as_str()),
            ("outcome", ended.outcome.name()),
            ("status", &status),
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
            let target = self.targets.label(clip(target, MAX_TARGET_LABEL));
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

    /// Counts the prompt of a route's request, and how much of it a provider's cache held.
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

    /// Counts what a call used. One that failed before it used anything is free.
    fn charged(&self, call: &UpstreamCall) {
        if call.outcome == CallOutcome::Failed && call.usage == Usage::default() {
            return;
        }
        let target = self.targets.label(clip(&call.target, MAX_TARGET_LABEL));
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
            false => self.targets.label(clip(target, MAX_TARGET_LABEL)),
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

    /// The page in Prometheus' text format.
    pub(crate) fn page(&self, health: &[HealthStatus], ready: bool) -> String {
        let mut page = MetricsPage::default();
        let counters = [
            ("requests", "Finished requests.", &self.requests),
            (
                "attempts",
                "Attempts by target and outcome.",
                &self.attempts,
            ),
            (
                "failovers",
                "Failovers from a target to the next.",
                &self.failovers,
            ),
            (
                "tokens",
                "Tokens as reported by providers, else estimated.",
                &self.tokens,
            ),
            (
                "images_changed",
                "Images changed for a target.",
                &self.images,
            ),
            (
                "descriptions",
                "Describer calls and cached descriptions.",
                &self.descriptions,
            ),
            (
                "describe_tokens",
                "Tokens of describer calls, not included in majordomo_tokens_total.",
                &self.describe_tokens,
            ),
            (
                "token_portions",
                "Cached and reasoning tokens, which are part of input and output.",
                &self.token_portions,
            ),
            (
                "route_tokens",
                "Input tokens by route, and the portions that prompt caches read and wrote.",
                &self.route_tokens,
            ),
            (
                "unpriced_calls",
                "Calls whose price is unknown.",
                &self.unpriced,
            ),
        ];
        for (name, help, counter) in counters {
            page.counter(name, help, counter);
        }
        let help = "Cost of calls with a known price, in US dollars.";
        page.cost_counter("cost_usd", help, &self.cost);
        page.gauge(
            "open_requests",
            "Requests in flight.",
            self.open_requests.get(),
        );
        page.gauge(
            "open_streams",
            "Streams in flight.",
            self.open_streams.get(),
        );
        page.gauge("ready", "Whether any target can serve.", i64::from(ready));
        page.histogram("request_seconds", "Request duration.", &self.took);
        page.histogram(
            "first_token_seconds",
            "Time to the first token of a stream.",
            &self.first_token,
        );
        page.health(health);
        page.finish()
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
mod tests {
    use std::time::Duration;

    use majordomo::llm::{Change, Dialect};

    use super::*;
    use crate::outcome::{AttemptSummary, RequestOutcome};

    fn ended(attempts: Vec<AttemptSummary>, changes: Vec<Change>) -> FinishedRequest {
        FinishedRequest {
            dialect: Dialect::new("openai-chat"),
            outcome: RequestOutcome::Complete,
            target: Some("p/m".to_owned()),
            attempts,
            changes,
            usage: Usage::new(7, 5),
            took: Duration::from_millis(30),
            first_token: Some(Duration::from_millis(20)),
            ..FinishedRequest::default()
        }
    }

    #[test]
    fn every_metric_of_a_request_is_on_the_page() {
        let metrics = Metrics::default();
        let attempt = |target: &str, outcome| AttemptSummary {
            target: target.into(),
            outcome,
            ..AttemptSummary::default()
        };
        let attempts = vec![
            attempt("a/x", "failed"),
            attempt("a/x", "failed"),
            attempt("p/m", "served"),
        ];
        let changes = vec![
            Change::new("image", "resized").times(2),
            Change::new("top_k", "dropped"),
        ];
        metrics.record(&ended(attempts, changes));
        metrics.open_streams.up();
        let page = metrics.page(&[], true);
        for line in [
            "majordomo_requests_total{dialect=\"openai-chat\",outcome=\"complete\",status=\"200\"} 1",
            "majordomo_attempts_total{target=\"a/x\",outcome=\"failed\"} 2",
            "majordomo_attempts_total{target=\"p/m\",outcome=\"served\"} 1",
            "majordomo_failovers_total{from=\"a/x\"} 1",
            "majordomo_tokens_total{target=\"p/m\",kind=\"input\"} 7",
            "majordomo_tokens_total{target=\"p/m\",kind=\"output\"} 5",
            "majordomo_images_changed_total{change=\"resized\"} 2",
            "majordomo_open_streams 1",
            "majordomo_ready 1",
            "majordomo_request_seconds_bucket{le=\"0.05\"} 1",
            "majordomo_request_seconds_bucket{le=\"0.025\"} 0",
            "majordomo_request_seconds_count 1",
            "majordomo_first_token_seconds_bucket{le=\"0.025\"} 1",
        ] {
            assert!(page.lines().any(|l| l == line), "{line} is not on\n{page}");
        }
        assert!(!page.contains("top_k"), "{page}");
    }

    #[test]
    fn describer_calls_are_counted_separately_from_responses() {
        let metrics = Metrics::default();
        let description = |target: &str, outcome| Description {
            outcome,
            target: target.to_owned(),
            attempts: Vec::new(),
            usage: Usage::new(100, 20),
            took: Duration::ZERO,
        };
        let changes = vec![Change::new("image", FROM_CACHE).times(3)];
        metrics.record(&FinishedRequest {
            descriptions: vec![
                description("eyes/a", "described"),
                description("eyes/a", "failed"),
                description("", "cancelled"),
            ],
            ..ended(Vec::new(), changes)
        });
        let page = metrics.page(&[], true);
        for line in [
            "majordomo_descriptions_total{target=\"eyes/a\",outcome=\"described\"} 1",
            "majordomo_descriptions_total{target=\"eyes/a\",outcome=\"failed\"} 1",
            "majordomo_descriptions_total{target=\"\",outcome=\"cancelled\"} 1",
            "majordomo_descriptions_total{outcome=\"cache\"} 3",
            "majordomo_describe_tokens_total{target=\"eyes/a\",kind=\"input\"} 200",
            "majordomo_describe_tokens_total{target=\"eyes/a\",kind=\"output\"} 40",
            "majordomo_tokens_total{target=\"p/m\",kind=\"input\"} 7",
        ] {
            assert!(page.lines().any(|l| l == line), "{line} is not on\n{page}");
        }
    }

    #[test]
    fn client_chosen_names_neither_break_the_page_nor_exhaust_memory() {
        let metrics = Metrics::default();
        for n in 0..5_000 {
            let attempts = vec![AttemptSummary {
                target: format!("p/\"{n}\n}}"),
                outcome: "failed",
                ..AttemptSummary::default()
            }];
            metrics.record(&ended(attempts, Vec::new()));
        }
        let page = metrics.page(&[], true);
        let attempts = page
            .lines()
            .filter(|l| l.starts_with("majordomo_attempts_total{"));
        assert!(attempts.count() <= target_labels::MAX_UNCONFIGURED + 1);
        assert!(
            page.contains("majordomo_attempts_total{target=\"p/\\\"0\\n}\",outcome=\"failed\"} 1")
        );
        // The serving target has a label as well.
        let rest = 5_001 - target_labels::MAX_UNCONFIGURED;
        let rest =
            format!("majordomo_attempts_total{{target=\"other\",outcome=\"failed\"}} {rest}");
        assert!(page.contains(&rest), "the rest is counted");
    }
}
