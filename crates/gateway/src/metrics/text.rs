//! Prometheus' text exposition format.

use std::fmt::{Display, Write};

use majordomo::health::HealthStatus;
use majordomo_ledger::Cost;

use super::counter::{Counter, format_labels};
use super::families::{self, MetricFamily};
use super::histogram::{BUCKET_BOUNDS, Histogram};

/// A page being written. Writing to a string cannot fail.
#[derive(Default)]
pub(crate) struct MetricsPage(String);

impl MetricsPage {
    fn head(&mut self, family: &MetricFamily) {
        let MetricFamily { name, help, .. } = family;
        let kind = family.kind.word();
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(super) fn counter(&mut self, family: &MetricFamily, counter: &Counter) {
        self.head(family);
        counter.each(|labels, count| {
            let _ = writeln!(self.0, "{}{{{labels}}} {count}", family.name);
        });
    }

    /// A counter of nanodollars, shown in dollars.
    pub(super) fn cost_counter(&mut self, family: &MetricFamily, counter: &Counter) {
        self.head(family);
        counter.each(|labels, count| {
            let cost = Cost::from_nanodollars(i64::try_from(count).unwrap_or(i64::MAX));
            let _ = writeln!(self.0, "{}{{{labels}}} {cost}", family.name);
        });
    }

    /// A metric without labels.
    pub(crate) fn value(&mut self, family: &MetricFamily, value: impl Display) {
        self.head(family);
        let _ = writeln!(self.0, "{} {value}", family.name);
    }

    /// A metric with one value per label set.
    pub(crate) fn values(
        &mut self,
        family: &MetricFamily,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        self.head(family);
        let [label] = family.labels else {
            return debug_assert!(false, "{} has one label", family.name);
        };
        for (of, value) in values {
            let labels = format_labels(&[(label, &of)]);
            let _ = writeln!(self.0, "{}{{{labels}}} {value}", family.name);
        }
    }

    pub(super) fn histogram(&mut self, family: &MetricFamily, histogram: &Histogram) {
        self.head(family);
        let name = family.name;
        let (counts, all) = histogram.counts();
        for (end, count) in BUCKET_BOUNDS.iter().zip(counts) {
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{end}\"}} {count}");
        }
        let _ = write!(
            self.0,
            "{name}_bucket{{le=\"+Inf\"}} {all}\n{name}_sum {}\n{name}_count {all}\n",
            histogram.sum()
        );
    }

    /// Usability of each configured target and credential. A label for every name that
    /// clients invent would exhaust the metrics database.
    pub(crate) fn health(&mut self, health: &[HealthStatus]) {
        let (declared, other): (Vec<_>, Vec<_>) = health.iter().partition(|one| one.declared);
        let usable = |one: &&HealthStatus| u64::from(one.until_usable.is_none());
        let declared = declared.iter();
        self.values(
            &families::TARGET_USABLE,
            declared.map(|one| (one.subject.to_string(), usable(one))),
        );
        let usable: u64 = other.iter().map(usable).sum();
        let benched = other.len() as u64 - usable;
        let counts = [
            ("benched".to_owned(), benched),
            ("usable".to_owned(), usable),
        ];
        self.values(&families::OTHER_TARGETS, counts);
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}
