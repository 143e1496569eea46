//! Prometheus' text form.

use std::fmt::Write;

use majordomo::HealthStatus;

use super::counter::{Counter, written};
use super::histogram::{ENDS, Histogram};

/// A page as it is written. Writing to a string cannot fail.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
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

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: i64) {
        self.head(name, help, "gauge");
        let _ = writeln!(self.0, "majordomo_{name} {value}");
    }

    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, help, "histogram");
        let (counts, all) = histogram.counts();
        for (end, count) in ENDS.iter().zip(counts) {
            let _ = writeln!(self.0, "majordomo_{name}_bucket{{le=\"{end}\"}} {count}");
        }
        let _ = write!(
            self.0,
            "majordomo_{name}_bucket{{le=\"+Inf\"}} {all}\nmajordomo_{name}_sum {}\n\
             majordomo_{name}_count {all}\n",
            histogram.sum()
        );
    }

    /// Whether each target, and each provider's credential, may be used.
    pub(super) fn health(&mut self, health: &[HealthStatus]) {
        let name = "target_usable";
        self.head(name, "Whether a target or credential may be used.", "gauge");
        for status in health {
            let labels = written(&[("target", &status.subject)]);
            let usable = u8::from(status.until_usable.is_none());
            let _ = writeln!(self.0, "majordomo_{name}{{{labels}}} {usable}");
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
