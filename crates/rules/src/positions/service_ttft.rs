//! `service_ttft`: the time to first token of the rule's services, in milliseconds.
//! Holds without samples, so that services get their first request.

use serde_json::Value;

use super::check::{Check, Compiled};
use super::{Op, Position};
use crate::number_match::{Compare, NumberMatch};
use crate::{RuleIndex, Subject, Ttft};

pub(super) const SERVICE_TTFT: Position = Position {
    name: "service_ttft",
    ops: &[
        Op {
            name: "avg_le",
            compile: |value| compile(value, average, fastest, Compare::AtMost),
        },
        Op {
            name: "avg_ge",
            compile: |value| compile(value, average, mean, Compare::AtLeast),
        },
        Op {
            name: "max_le",
            compile: |value| compile(value, slowest, fastest, Compare::AtMost),
        },
        Op {
            name: "max_ge",
            compile: |value| compile(value, slowest, mean, Compare::AtLeast),
        },
    ],
};

#[derive(Debug)]
struct ServiceTtft {
    /// Selects a metric of a service.
    figure: fn(&Ttft) -> f64,
    /// Aggregates over all services: upper bounds use the fastest service, lower
    /// bounds the mean.
    over_all: fn(&[f64]) -> Option<f64>,
    judge: NumberMatch,
}

fn compile(
    value: Option<&Value>,
    figure: fn(&Ttft) -> f64,
    over_all: fn(&[f64]) -> Option<f64>,
    compare: Compare,
) -> Compiled {
    let judge = NumberMatch::compile(value, compare)?;
    Ok(Box::new(ServiceTtft {
        figure,
        over_all,
        judge,
    }))
}

fn average(ttft: &Ttft) -> f64 {
    ttft.average_ms
}

fn slowest(ttft: &Ttft) -> f64 {
    ttft.p99_ms
}

fn fastest(figures: &[f64]) -> Option<f64> {
    figures.iter().copied().reduce(f64::min)
}

fn mean(figures: &[f64]) -> Option<f64> {
    let sum: f64 = figures.iter().sum();
    (!figures.is_empty()).then(|| sum / figures.len() as f64)
}

impl ServiceTtft {
    fn milliseconds(&self, subject: &Subject<'_>, rule: RuleIndex) -> Option<f64> {
        let stats = subject.service_metrics(rule);
        let figures: Vec<f64> = stats
            .iter()
            .filter_map(|service| service.ttft.as_ref().map(self.figure))
            .filter(|figure| *figure > 0.0)
            .collect();
        (self.over_all)(&figures)
    }
}

impl Check for ServiceTtft {
    fn holds(&self, subject: &Subject<'_>, rule: RuleIndex) -> bool {
        let known = self.milliseconds(subject, rule);
        known.is_none_or(|figure| self.judge.holds_measured(figure))
    }

    fn actual(&self, subject: &Subject<'_>, rule: RuleIndex) -> String {
        match self.milliseconds(subject, rule) {
            Some(figure) => format!("{figure:.0} ms"),
            None => "not known yet".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::holds;
    use crate::{RuleIndex, ServiceMetrics, Services, Subject, Ttft};
    use majordomo::Request;
    use serde_json::json;

    struct FixedTtft(Vec<(f64, f64)>);

    impl Services for FixedTtft {
        fn of_rule(&self, _: RuleIndex) -> Vec<ServiceMetrics> {
            let ttft = |&(average_ms, p99_ms): &(f64, f64)| Ttft { average_ms, p99_ms };
            let stats = |figures| ServiceMetrics {
                ttft: Some(ttft(figures)),
                seats: None,
            };
            self.0.iter().map(stats).collect()
        }
    }

    #[test]
    fn upper_bounds_use_the_fastest_service_and_lower_bounds_the_mean() {
        let request = Request::user("hi");
        let measured = FixedTtft(vec![(100.0, 400.0), (300.0, 800.0)]);
        let subject = Subject::new(&request, "m").services(&measured);
        for (op, value, expected) in [
            ("avg_le", 100, true),
            ("avg_le", 99, false),
            ("avg_ge", 200, true),
            ("avg_ge", 201, false),
            ("max_le", 400, true),
            ("max_le", 399, false),
            ("max_ge", 600, true),
            ("max_ge", 601, false),
        ] {
            let held = holds("service_ttft", op, json!(value), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }

    #[test]
    fn all_operations_hold_without_samples() {
        let request = Request::user("hi");
        let unmeasured = FixedTtft(vec![(0.0, 0.0)]);
        for subject in [
            Subject::new(&request, "m"),
            Subject::new(&request, "m").services(&unmeasured),
        ] {
            for op in ["avg_le", "avg_ge", "max_le", "max_ge"] {
                assert!(holds("service_ttft", op, json!(1), &subject), "{op}");
            }
        }
    }
}
