//! PromQL, built from metrics that exist.

use std::collections::BTreeSet;

use super::super::families::{ALL, MetricFamily, MetricKind};

/// A metric with label matchers, such as `{outcome="failed"}`. Labels must be the metric's.
pub(super) fn select(family: &MetricFamily, matchers: &[(&str, &str)]) -> String {
    let matchers: Vec<String> = matchers
        .iter()
        .map(|(label, matcher)| {
            assert!(
                family.labels.contains(label),
                "{} has no {label}",
                family.name
            );
            format!("{label}{matcher}")
        })
        .collect();
    match matchers.is_empty() {
        true => family.name.to_owned(),
        false => format!("{}{{{}}}", family.name, matchers.join(",")),
    }
}

/// The per-second rate of a counter, summed by labels.
pub(super) fn rate(family: &MetricFamily, window: &str, by: &[&str]) -> String {
    rate_of(family, &[], window, by)
}

/// Like [`rate`], of some label sets.
pub(super) fn rate_of(
    family: &MetricFamily,
    matchers: &[(&str, &str)],
    window: &str,
    by: &[&str],
) -> String {
    over("rate", family, matchers, window, by)
}

/// The increase of a counter, summed by labels.
pub(super) fn increase(family: &MetricFamily, window: &str, by: &[&str]) -> String {
    over("increase", family, &[], window, by)
}

fn over(
    function: &str,
    family: &MetricFamily,
    matchers: &[(&str, &str)],
    window: &str,
    by: &[&str],
) -> String {
    assert_eq!(family.kind, MetricKind::Counter, "{}", family.name);
    let series = format!("{function}({}[{window}])", select(family, matchers));
    sum(family, &series, by)
}

fn sum(family: &MetricFamily, series: &str, by: &[&str]) -> String {
    for label in by {
        let known = family.labels.contains(label);
        assert!(known, "{} has no {label}", family.name);
    }
    match by.is_empty() {
        true => format!("sum({series})"),
        false => format!("sum by ({}) ({series})", by.join(", ")),
    }
}

/// A gauge, summed over all gateways.
pub(super) fn total(family: &MetricFamily, by: &[&str]) -> String {
    assert_eq!(family.kind, MetricKind::Gauge, "{}", family.name);
    sum(family, family.name, by)
}

/// A quantile of a histogram.
pub(super) fn quantile(family: &MetricFamily, quantile: &str, window: &str) -> String {
    assert_eq!(family.kind, MetricKind::Histogram, "{}", family.name);
    format!(
        "histogram_quantile({quantile}, sum by (le) (rate({}_bucket[{window}])))",
        family.name
    )
}

/// The names of our metrics in a text.
pub(super) fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    let names = words.filter(|word| word.starts_with("majordomo_") && word.len() > 10);
    names.map(family_name).collect()
}

/// The metric that a series belongs to: histograms have three.
fn family_name(series: &str) -> String {
    let parts = ["_bucket", "_sum", "_count"];
    let base = parts.iter().find_map(|part| series.strip_suffix(part));
    let is_histogram = |name: &&str| {
        let mut known = ALL.iter();
        known.any(|family| family.kind == MetricKind::Histogram && family.name == *name)
    };
    base.filter(is_histogram).unwrap_or(series).to_owned()
}

/// The names of all metrics.
pub(super) fn all_names() -> BTreeSet<String> {
    ALL.iter().map(|family| family.name.to_owned()).collect()
}

#[test]
fn names_follow_the_conventions_of_prometheus() {
    for family in ALL {
        let MetricFamily { name, kind, .. } = family;
        let is_counter = *kind == MetricKind::Counter;
        assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        if *kind == MetricKind::Histogram {
            assert!(name.ends_with("_seconds"), "{name}");
        }
        let plain = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(name.chars().all(plain), "{name}");
        for unit in ["_ms", "_millis", "_milliseconds", "_minutes", "_kb", "_mb"] {
            assert!(!name.contains(unit), "{name} has no base unit");
        }
        assert!(family.help.ends_with('.'), "{name}");
        for label in family.labels {
            assert!(!name.contains(&format!("_by_{label}")), "{name}");
        }
    }
    assert_eq!(all_names().len(), ALL.len(), "a name is used twice");
}
