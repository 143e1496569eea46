//! The Prometheus metrics of `/metrics`.
//!
//! Every request is counted once, when it ends, without taking a lock that requests
//! wait for. Clients can invent target names, so their number and length are bounded;
//! no label holds content or a key. May use `clip` and `outcome`.

mod counter;
mod histogram;
mod target_labels;
mod text;

use std::collections::BTreeSet;

use majordomo::Usage;
use majordomo::health::HealthStatus;

use counter::Counter;
pub(crate) use counter::Gauge;
use histogram::Histogram;
use majordomo_vision::{DescribeCall, FROM_CACHE};
use target_labels::TargetLabels;
use text::MetricsPage;

use crate::clip::clip;
use crate::outcome::{FinishedRequest, MAX_TARGET_LABEL};

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
    pub(crate) fn record(&self, ended: &FinishedRequest<'_>) {
        let status = ended.status.to_string();
        let labels = [
            ("dialect", ended.dialect),
            ("outcome", ended.end.name()),
            ("status", &status),
        ];
        self.requests.add(&labels, 1);
        for attempt in ended.attempts {
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
        if let Some(target) = ended.target {
            let target = self.targets.label(clip(target, MAX_TARGET_LABEL));
            for (kind, count) in [("input", input), ("output", output)] {
                if count > 0 {
                    let labels = [("target", target), ("kind", kind)];
                    self.tokens.add(&labels, count);
                }
            }
        }
        for change in ended.changes.iter().filter(|c| c.subject == "image") {
            let count = change.count.unwrap_or(1) as u64;
            self.images.add(&[("change", &*change.verb)], count);
            if change.verb == FROM_CACHE {
                self.descriptions.add(&[("outcome", "cache")], count);
            }
        }
        for call in ended.described {
            self.described(call);
        }
        self.took.observe(ended.took);
        if let Some(time) = ended.first_token {
            self.first_token.observe(time);
        }
    }

    fn described(&self, call: &DescribeCall) {
        let target = call.last_target();
        let target = match target.is_empty() {
            true => target,
            false => self.targets.label(clip(target, MAX_TARGET_LABEL)),
        };
        let labels = [("target", target), ("outcome", call.outcome())];
        self.descriptions.add(&labels, 1);
        let Usage { input, output, .. } = call.usage;
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
            ("requests", "RequestSpanData requests.", &self.requests),
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
            ("tokens", "Tokens as reported by providers.", &self.tokens),
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
        ];
        for (name, help, counter) in counters {
            page.counter(name, help, counter);
        }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use majordomo::llm::Change;

    use super::*;
    use crate::outcome::{AttemptSummary, RequestOutcome};

    fn ended<'a>(attempts: &'a [AttemptSummary], changes: &'a [Change]) -> FinishedRequest<'a> {
        FinishedRequest {
            dialect: "openai-chat",
            end: RequestOutcome::Complete,
            status: 200,
            target: Some("p/m"),
            attempts,
            changes,
            described: &[],
            usage: Usage::new(7, 5),
            took: Duration::from_millis(30),
            first_token: Some(Duration::from_millis(20)),
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
        let attempts = [
            attempt("a/x", "failed"),
            attempt("a/x", "failed"),
            attempt("p/m", "served"),
        ];
        let changes = [
            Change::new("image", "resized").times(2),
            Change::new("top_k", "dropped"),
        ];
        metrics.record(&ended(&attempts, &changes));
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
        let call = |target: Option<&str>, failure: Option<&str>| DescribeCall {
            target: target.map(str::to_owned),
            attempts: Vec::new(),
            usage: Usage::new(100, 20),
            began: tokio::time::Instant::now().into_std(),
            took: Duration::ZERO,
            failure: failure.map(str::to_owned),
        };
        let calls = [
            call(Some("eyes/a"), None),
            call(Some("eyes/a"), Some("the description is empty")),
            call(None, Some("cancelled")),
        ];
        let changes = [Change::new("image", FROM_CACHE).times(3)];
        metrics.record(&FinishedRequest {
            described: &calls,
            ..ended(&[], &changes)
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
            let attempts = [AttemptSummary {
                target: format!("p/\"{n}\n}}"),
                outcome: "failed",
                ..AttemptSummary::default()
            }];
            metrics.record(&ended(&attempts, &[]));
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
