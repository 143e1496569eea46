//! Prometheus' text exposition format.

use std::fmt::{Display, Formatter, Result, Write};

use super::counter::Labels;
use super::families::MetricFamily;
use super::histogram::HistogramCounts;
use super::snapshot::{MetricNumber, MetricValues, MetricsSnapshot};

impl MetricsSnapshot {
    /// The page of `/metrics`. Writing to a string cannot fail.
    pub(crate) fn text(&self) -> String {
        let mut page = String::new();
        for metric in self.families() {
            let MetricFamily { name, help, .. } = metric.family;
            let kind = metric.family.kind.word();
            let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            match &metric.values {
                MetricValues::Numbers(values) => {
                    for (labels, value) in values {
                        page.push_str(name);
                        push_labels(&mut page, labels);
                        let _ = writeln!(page, " {value}");
                    }
                }
                MetricValues::Histogram(counts) => push_histogram(&mut page, name, counts),
            }
        }
        page
    }
}

fn push_histogram(page: &mut String, name: &str, histogram: &HistogramCounts) {
    let mut below = 0;
    for (end, count) in histogram.bounds.iter().zip(&histogram.counts) {
        below += count;
        let _ = writeln!(page, "{name}_bucket{{le=\"{end}\"}} {below}");
    }
    let all = histogram.total();
    let _ = write!(
        page,
        "{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_sum {}\n{name}_count {all}\n",
        histogram.sum
    );
}

fn push_labels(page: &mut String, labels: &Labels) {
    for (n, (name, value)) in labels.iter().enumerate() {
        page.push(if n == 0 { '{' } else { ',' });
        page.push_str(name);
        page.push_str("=\"");
        for letter in value.chars() {
            match letter {
                '"' => page.push_str("\\\""),
                '\\' => page.push_str("\\\\"),
                '\n' => page.push_str("\\n"),
                letter => page.push(letter),
            }
        }
        page.push('"');
    }
    if !labels.is_empty() {
        page.push('}');
    }
}

impl Display for MetricNumber {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Seconds(value) => value.fmt(f),
            Self::Dollars(value) => value.fmt(f),
        }
    }
}
