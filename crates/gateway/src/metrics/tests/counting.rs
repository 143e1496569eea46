//! The effect of a finished request on each metric.

use std::time::Duration;

use majordomo::llm::{Change, Dialect};

use super::super::*;
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
    let page = metrics.snapshot().text();
    for line in [
        "majordomo_requests_total{dialect=\"openai-chat\",outcome=\"complete\",status=\"200\"} 1",
        "majordomo_attempts_total{target=\"a/x\",outcome=\"failed\"} 2",
        "majordomo_attempts_total{target=\"p/m\",outcome=\"served\"} 1",
        "majordomo_failovers_total{from=\"a/x\"} 1",
        "majordomo_tokens_total{target=\"p/m\",kind=\"input\"} 7",
        "majordomo_tokens_total{target=\"p/m\",kind=\"output\"} 5",
        "majordomo_images_changed_total{change=\"resized\"} 2",
        "majordomo_open_streams 1",
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
    let page = metrics.snapshot().text();
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
    let page = metrics.snapshot().text();
    let attempts = page
        .lines()
        .filter(|l| l.starts_with("majordomo_attempts_total{"));
    assert!(attempts.count() <= target_labels::MAX_UNCONFIGURED + 1);
    assert!(page.contains("majordomo_attempts_total{target=\"p/\\\"0\\n}\",outcome=\"failed\"} 1"));
    // The serving target has a label as well.
    let rest = 5_001 - target_labels::MAX_UNCONFIGURED;
    let rest = format!("majordomo_attempts_total{{target=\"other\",outcome=\"failed\"}} {rest}");
    assert!(page.contains(&rest), "the rest is counted");
}
