//! The alert rules in `deploy/prometheus`.

use std::fmt::Write;

use super::super::families::{
    self as metric, ATTEMPTS, COST, FAILOVERS, FIRST_TOKEN_SECONDS, REQUESTS,
};
use super::assert_written;
use super::query::{all_names, increase, metrics_in, quantile, rate, rate_of, select};

/// A rule that fires once `expr` has a value for `hold`.
struct AlertRule {
    name: &'static str,
    expr: String,
    hold: &'static str,
    severity: &'static str,
    summary: &'static str,
    description: &'static str,
}

const HEAD: &str = "\
# Alert rules for Prometheus. Written by a test from the list of metrics: change
# crates/gateway/src/metrics/tests/alerts.rs, not this file.
#
# Thresholds suit a gateway of a team; copy the file and change them to yours.
groups:
  - name: majordomo
    rules:
";

fn rules() -> Vec<AlertRule> {
    let requests = rate(&REQUESTS, "5m", &[]);
    let failed = rate_of(
        &REQUESTS,
        &[("outcome", "=\"failed\""), ("status", "=~\"5..\"")],
        "5m",
        &[],
    );
    let broken = rate_of(&REQUESTS, &[("outcome", "=\"interrupted\"")], "15m", &[]);
    let hour = increase(&COST, "1h", &[]);
    let day = increase(&COST, "1d", &[]);
    let sent = |window| {
        rate_of(
            &ATTEMPTS,
            &[("outcome", "!=\"skipped\"")],
            window,
            &["target"],
        )
    };
    let zero = |family| format!("{} == 0", select(family, &[]));
    vec![
        AlertRule {
            name: "MajordomoDown",
            expr: "up{job=\"majordomo\"} == 0".to_owned(),
            hold: "2m",
            severity: "critical",
            summary: "Prometheus cannot scrape {{ $labels.instance }}",
            description: "The process is gone, its operator listener is unreachable, or the key \
                          of the scrape was refused.",
        },
        AlertRule {
            name: "MajordomoNotReady",
            expr: zero(&metric::READY),
            hold: "2m",
            severity: "critical",
            summary: "{{ $labels.instance }} has no usable target",
            description: "Every configured target is benched, or the gateway is draining. \
                          /api/health says why.",
        },
        AlertRule {
            name: "MajordomoFailing",
            expr: format!("{failed} / {requests} > 0.05"),
            hold: "5m",
            severity: "critical",
            summary: "{{ $value | humanizePercentage }} of requests fail",
            description: "Requests end with a status of 500 or above although chains fail over. \
                          The log has the reason of each, at level WARN.",
        },
        AlertRule {
            name: "MajordomoStreamsBreak",
            expr: format!("{broken} / {} > 0.02", rate(&REQUESTS, "15m", &[])),
            hold: "15m",
            severity: "warning",
            summary: "{{ $value | humanizePercentage }} of requests are interrupted",
            description: "Streams break after their first token, when no other target can take \
                          over. Look for a proxy with a short timeout, or a failing provider.",
        },
        AlertRule {
            name: "MajordomoTargetUnusable",
            expr: zero(&metric::TARGET_USABLE),
            hold: "15m",
            severity: "warning",
            summary: "{{ $labels.target }} is unusable",
            description: "A configured target or credential has been benched for a quarter of \
                          an hour: an invalid key, an exhausted account, or an outage.",
        },
        AlertRule {
            name: "MajordomoFailsOver",
            expr: format!(
                "label_replace({}, \"target\", \"$1\", \"from\", \"(.*)\") / on (target) {} > 0.2",
                rate(&FAILOVERS, "15m", &["from"]),
                sent("15m"),
            ),
            hold: "15m",
            severity: "warning",
            summary: "{{ $value | humanizePercentage }} of the attempts at {{ $labels.target }} move on",
            description: "Clients are served, but by targets further down their chains, which \
                          may cost more.",
        },
        AlertRule {
            name: "MajordomoSlowFirstToken",
            expr: format!("{} > 30", quantile(&FIRST_TOKEN_SECONDS, "0.95", "10m")),
            hold: "10m",
            severity: "warning",
            summary: "One stream in twenty waits {{ $value | humanizeDuration }} for its first token",
            description: "Providers are slow or queue requests; compare the targets' times in \
                          /api/health.",
        },
        AlertRule {
            name: "MajordomoConfigStale",
            expr: format!("{} == 1", select(&metric::CONFIG_STALE, &[])),
            hold: "5m",
            severity: "warning",
            summary: "{{ $labels.instance }} runs with an old configuration or certificate",
            description: "The newest file was rejected. /api/health gives the reason as \
                          config_stale; `majordomo check` reports the mistake with its line.",
        },
        AlertRule {
            name: "MajordomoLedgerUnavailable",
            expr: zero(&metric::LEDGER_AVAILABLE),
            hold: "5m",
            severity: "critical",
            summary: "{{ $labels.instance }} cannot write its ledger",
            description: "Requests are served and their rows wait in memory. Check the disk or \
                          the database before they are dropped.",
        },
        AlertRule {
            name: "MajordomoLedgerDropping",
            expr: format!("{} > 0", increase(&metric::LEDGER_DROPPED, "15m", &[])),
            hold: "0m",
            severity: "critical",
            summary: "The ledger loses entries",
            description: "Usage and cost of these requests are not recorded.",
        },
        AlertRule {
            name: "MajordomoSpendingFast",
            // A gateway that is younger than a day has no average yet.
            expr: format!(
                "{hour} > 4 * {day} / 24 and {hour} > 1 and sum({} offset 1d) >= 0",
                select(&COST, &[])
            ),
            hold: "10m",
            severity: "warning",
            summary: "The last hour cost {{ $value | humanize }} US dollars",
            description: "That is more than four times the average hour of the last day. \
                          `majordomo usage --since 1h --by key` shows who spends it.",
        },
        AlertRule {
            name: "MajordomoUnpricedCalls",
            expr: format!(
                "{} > 0",
                increase(&metric::UNPRICED_CALLS, "1h", &["target"])
            ),
            hold: "1h",
            severity: "info",
            summary: "{{ $labels.target }} has no price",
            description: "Its calls are missing from cost and budgets. Add it to [prices].",
        },
        AlertRule {
            name: "MajordomoReservationsLeak",
            expr: format!(
                "{} > 0 and {} == 0",
                metric::OPEN_RESERVATIONS.name,
                metric::OPEN_REQUESTS.name
            ),
            hold: "15m",
            severity: "warning",
            summary: "{{ $labels.instance }} holds budget that no request uses",
            description: "A bug in majordomo: please report it with the log. A restart releases \
                          the reservations.",
        },
    ]
}

/// The rules as YAML; JSON strings are valid there.
fn file() -> String {
    let quoted = |text: &str| serde_json::to_string(text).expect("text");
    let mut text = HEAD.to_owned();
    for rule in rules() {
        let _ = write!(
            text,
            "\n      - alert: {}\n        expr: {}\n        for: {}\n        labels:\n          \
             severity: {}\n        annotations:\n          summary: {}\n          description: {}\n",
            rule.name,
            quoted(&rule.expr),
            rule.hold,
            rule.severity,
            quoted(rule.summary),
            quoted(rule.description),
        );
    }
    text
}

#[test]
fn the_alert_rules_are_those_of_the_metrics() {
    assert_written("deploy/prometheus/majordomo.rules.yml", &file());
    let known = all_names();
    for name in metrics_in(&file()) {
        assert!(known.contains(&name), "{name} does not exist");
    }
}

#[test]
fn every_alert_is_tested_with_promtool() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/prometheus/rules_test.yml"
    );
    let tests = std::fs::read_to_string(path).expect("the tests");
    for rule in rules() {
        let tested = format!("alertname: {}\n", rule.name);
        assert!(tests.contains(&tested), "{} has no test", rule.name);
    }
}
