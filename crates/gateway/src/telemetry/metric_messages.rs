//! Metrics as OTLP messages.
//!
//! Every metric of `/metrics` is exported under its own name without the suffixes that
//! Prometheus wants: `majordomo_requests_total` is `majordomo.requests`. A Prometheus that
//! receives the messages, directly or from a collector, adds them again, so dashboard and
//! alert rules work with both.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
    number_data_point,
};

use super::call_histograms::CallHistogram;
use super::names;
use crate::metrics::families::{MetricFamily, MetricKind};
use crate::metrics::{
    FamilyValues, HistogramCounts, Labels, MetricNumber, MetricValues, MetricsSnapshot,
};

/// The time that values are about, in nanoseconds of Unix time.
#[derive(Clone, Copy)]
pub(super) struct Period {
    /// When counting began.
    pub(super) start: u64,
    pub(super) now: u64,
}

/// All metrics of a snapshot.
pub(super) fn of_snapshot(
    snapshot: &MetricsSnapshot,
    period: Period,
) -> impl Iterator<Item = Metric> {
    let families = snapshot.families().iter();
    families.map(move |metric| of_family(metric, period))
}

/// A histogram of calls.
pub(super) fn of_calls(histogram: &CallHistogram, period: Period) -> Metric {
    let points = histogram.counts().into_iter();
    let points = points.map(|(labels, counts)| point(labels, counts, period));
    Metric {
        name: histogram.name.to_owned(),
        description: histogram.help.to_owned(),
        unit: histogram.unit.to_owned(),
        data: Some(histogram_data(points.collect())),
        ..Metric::default()
    }
}

fn of_family(metric: &FamilyValues, period: Period) -> Metric {
    let (name, unit) = name_and_unit(metric.family);
    let data = match &metric.values {
        MetricValues::Histogram(counts) => {
            histogram_data(vec![point(Vec::new(), counts.clone(), period)])
        }
        MetricValues::Numbers(values) => {
            let points = values.iter();
            let data_points = points.map(|(labels, value)| number(labels, *value, period));
            let data_points = data_points.collect();
            match metric.family.kind {
                MetricKind::Counter => Data::Sum(Sum {
                    data_points,
                    aggregation_temporality: AggregationTemporality::Cumulative.into(),
                    is_monotonic: true,
                }),
                _ => Data::Gauge(Gauge { data_points }),
            }
        }
    };
    Metric {
        name,
        unit: unit.to_owned(),
        description: metric.family.help.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

/// The name and unit of a metric of `/metrics`.
fn name_and_unit(family: &MetricFamily) -> (String, &'static str) {
    let name = family
        .name
        .strip_prefix("majordomo_")
        .unwrap_or(family.name);
    let name = match family.kind {
        MetricKind::Counter => name.strip_suffix("_total").unwrap_or(name),
        MetricKind::Gauge | MetricKind::Histogram => name,
    };
    match name.strip_suffix("_seconds") {
        Some(name) => (format!("majordomo.{name}"), "s"),
        // Other units stay in the name: Prometheus knows no abbreviation of theirs.
        None => (format!("majordomo.{name}"), ""),
    }
}

fn histogram_data(data_points: Vec<HistogramDataPoint>) -> Data {
    Data::Histogram(Histogram {
        data_points,
        aggregation_temporality: AggregationTemporality::Cumulative.into(),
    })
}

fn point(labels: Labels, counts: HistogramCounts, period: Period) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes: labels.into_iter().map(attribute).collect(),
        start_time_unix_nano: period.start,
        time_unix_nano: period.now,
        count: counts.total(),
        sum: Some(counts.sum),
        explicit_bounds: counts.bounds.to_vec(),
        bucket_counts: counts.counts,
        ..HistogramDataPoint::default()
    }
}

fn number(labels: &Labels, value: MetricNumber, period: Period) -> NumberDataPoint {
    let value = match value {
        MetricNumber::Integer(value) => number_data_point::Value::AsInt(value),
        MetricNumber::Seconds(value) => number_data_point::Value::AsDouble(value),
        MetricNumber::Dollars(cost) => {
            number_data_point::Value::AsDouble(cost.nanodollars() as f64 / 1e9)
        }
    };
    NumberDataPoint {
        attributes: labels.iter().cloned().map(attribute).collect(),
        start_time_unix_nano: period.start,
        time_unix_nano: period.now,
        value: Some(value),
        ..NumberDataPoint::default()
    }
}

fn attribute((name, value): (&'static str, String)) -> KeyValue {
    // Kept as text like all labels; the conventions want a number.
    let port = (name == names::SERVER_PORT)
        .then(|| value.parse().ok())
        .flatten();
    let value = port.map_or(Value::StringValue(value), Value::IntValue);
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::families::ALL;

    /// The name that Prometheus gives a metric that it receives as OTLP.
    fn in_prometheus(family: &MetricFamily) -> String {
        let (name, unit) = name_and_unit(family);
        let unit = match unit {
            "s" => "_seconds",
            _ => "",
        };
        let total = match family.kind {
            MetricKind::Counter => "_total",
            MetricKind::Gauge | MetricKind::Histogram => "",
        };
        format!("{}{unit}{total}", name.replace('.', "_"))
    }

    #[test]
    fn prometheus_gives_every_metric_its_name_again() {
        for family in ALL {
            assert_eq!(in_prometheus(family), family.name);
        }
        let names: Vec<String> = ALL.iter().map(|it| name_and_unit(it).0).collect();
        for name in ["requests", "request", "store_wait", "cost_usd", "ready"] {
            let name = format!("majordomo.{name}");
            assert!(names.contains(&name), "{name} is not in {names:?}");
        }
    }
}
