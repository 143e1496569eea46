//! Prometheus' text exposition format.

use std::fmt::Write;

use majordomo::health::HealthStatus;
use majordomo_ledger::Cost;

use super::counter::{Counter, format_labels};
use super::histogram::{BUCKET_BOUNDS, Histogram};

/// A page being written. Writing to a string cannot fail.
#[derive(Default)]
pub(super) struct MetricsPage(String);

impl MetricsPage {
    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = write!(
            self.0,
            "# HELP majordomo_{name} {help}\n# TYPE majordomo_{name} {kind}\n"
        );
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, counter: &Counter) {
        self.head(&format!("{name}_total"), help, "counter");
        counter.each(|labels, count| {
            let _ = writeln!(self.0, "majordomo_{name}_total{{{labels}}} {count}");
        });
    }

    /// A counter of nanodollars, shown in dollars.
    pub(super) fn cost_counter(&mut self, name: &str, help: &str, counter: &Counter) {
        self.head(&format!("{name}_total"), help, "counter");
        counter.each(|labels, count| {
            let cost = Cost::from_nanodollars(i64::try_from(count).unwrap_or(i64::MAX));
            let _ = writeln!(self.0, "majordomo_{name}_total{{{labels}}} {cost}");
        });
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: i64) {
        self.head(name, help, "gauge");
        let _ = writeln!(self.0, "majordomo_{name} {value}");
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, help, "histogram");
        let (counts, all) = histogram.counts();
        for (end, count) in BUCKET_BOUNDS.iter().zip(counts) {
            let _ = writeln!(self.0, "majordomo_{name}_bucket{{le=\"{end}\"}} {count}");
        }
        let _ = write!(
            self.0,
            "majordomo_{name}_bucket{{le=\"+Inf\"}} {all}\nmajordomo_{name}_sum {}\n\
             majordomo_{name}_count {all}\n",
            histogram.sum()
        );
    }

    /// Usability of each configured target and credential. A label for every name that
    /// clients invent would exhaust the metrics database.
    pub(super) fn health(&mut self, health: &[HealthStatus]) {
        let name = "target_usable";
        self.head(name, "Whether a target or credential is usable.", "gauge");
        for status in health.iter().filter(|status| status.declared) {
            let labels = format_labels(&[("target", &status.subject)]);
            let usable = u8::from(status.until_usable.is_none());
            let _ = writeln!(self.0, "majordomo_{name}{{{labels}}} {usable}");
        }
        let name = "other_targets";
        let help = "Targets that clients named and that are not configured.";
        self.head(name, help, "gauge");
        let other = || health.iter().filter(|status| !status.declared);
        let benched = other()
            .filter(|status| status.until_usable.is_some())
            .count();
        let usable = other().count() - benched;
        for (state, count) in [("benched", benched), ("usable", usable)] {
            let _ = writeln!(self.0, "majordomo_{name}{{state=\"{state}\"}} {count}");
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
