//! All metrics at one moment, for whatever shows or exports them.

use majordomo::health::HealthStatus;
use majordomo_ledger::Cost;

use super::counter::{Counter, Labels, shown};
use super::families::{self, MetricFamily};
use super::histogram::{Histogram, HistogramCounts};

/// Metrics with their values, in the order in which they were added.
#[derive(Default)]
pub(crate) struct MetricsSnapshot(Vec<FamilyValues>);

/// One metric.
pub(crate) struct FamilyValues {
    pub(crate) family: &'static MetricFamily,
    pub(crate) values: MetricValues,
}

/// The values of a metric.
pub(crate) enum MetricValues {
    /// One per label set.
    Numbers(Vec<(Labels, MetricNumber)>),
    /// Of a histogram, which has no labels.
    Histogram(HistogramCounts),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MetricNumber {
    Integer(i64),
    Seconds(f64),
    Dollars(Cost),
}

impl MetricsSnapshot {
    pub(super) fn counter(&mut self, family: &'static MetricFamily, counter: &Counter) {
        let counts = counter.counts().into_iter();
        self.numbers(family, counts.map(|(labels, count)| (labels, count.into())));
    }

    /// A counter of nanodollars, shown in dollars.
    pub(super) fn cost_counter(&mut self, family: &'static MetricFamily, counter: &Counter) {
        let counts = counter.counts().into_iter();
        let dollars = |count| Cost::from_nanodollars(i64::try_from(count).unwrap_or(i64::MAX));
        let counts = counts.map(|(labels, count)| (labels, dollars(count).into()));
        self.numbers(family, counts);
    }

    /// A metric without labels.
    pub(crate) fn value(&mut self, family: &'static MetricFamily, value: impl Into<MetricNumber>) {
        self.numbers(family, [(Vec::new(), value.into())]);
    }

    /// A metric with one value per label set.
    pub(crate) fn values(
        &mut self,
        family: &'static MetricFamily,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        let [label] = family.labels else {
            return debug_assert!(false, "{} has one label", family.name);
        };
        let values = values.into_iter();
        let values =
            values.map(|(of, value)| (vec![(*label, shown(&of).into_owned())], value.into()));
        self.numbers(family, values);
    }

    pub(super) fn histogram(&mut self, family: &'static MetricFamily, histogram: &Histogram) {
        self.0.push(FamilyValues {
            family,
            values: MetricValues::Histogram(histogram.counts()),
        });
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

    /// Every metric with its values.
    pub(crate) fn families(&self) -> &[FamilyValues] {
        &self.0
    }

    fn numbers(
        &mut self,
        family: &'static MetricFamily,
        values: impl IntoIterator<Item = (Labels, MetricNumber)>,
    ) {
        self.0.push(FamilyValues {
            family,
            values: MetricValues::Numbers(values.into_iter().collect()),
        });
    }
}

impl From<u8> for MetricNumber {
    fn from(value: u8) -> Self {
        Self::Integer(value.into())
    }
}

impl From<i64> for MetricNumber {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for MetricNumber {
    fn from(value: u64) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for MetricNumber {
    fn from(seconds: f64) -> Self {
        Self::Seconds(seconds)
    }
}

impl From<Cost> for MetricNumber {
    fn from(cost: Cost) -> Self {
        Self::Dollars(cost)
    }
}
