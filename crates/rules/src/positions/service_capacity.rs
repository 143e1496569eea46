//! `service_capacity`: the percentage of seats in use, averaged over those of the
//! rule's services that have a capacity. Holds if none has one.

use serde_json::Value;

use super::check::{Check, Compiled};
use super::{Op, Position};
use crate::number_match::{Compare, NumberMatch};
use crate::{RuleIndex, Subject};

pub(super) const SERVICE_CAPACITY: Position = Position {
    name: "service_capacity",
    ops: &[
        Op {
            name: "util_le",
            compile: |value| compile(value, Compare::AtMost),
        },
        Op {
            name: "util_ge",
            compile: |value| compile(value, Compare::AtLeast),
        },
        Op {
            name: "util_lt",
            compile: |value| compile(value, Compare::LessThan),
        },
        Op {
            name: "util_gt",
            compile: |value| compile(value, Compare::MoreThan),
        },
    ],
};

#[derive(Debug)]
struct Utilization(NumberMatch);

fn compile(value: Option<&Value>, compare: Compare) -> Compiled {
    NumberMatch::compile(value, compare).map(|judge| Box::new(Utilization(judge)) as _)
}

fn percent(subject: &Subject<'_>, rule: RuleIndex) -> Option<f64> {
    let stats = subject.service_metrics(rule);
    let seats = stats.iter().filter_map(|service| service.seats);
    let (mut sum, mut count) = (0.0, 0_u32);
    for seats in seats.filter(|seats| seats.capacity > 0) {
        sum += seats.taken as f64 / seats.capacity as f64 * 100.0;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

impl Check for Utilization {
    fn holds(&self, subject: &Subject<'_>, rule: RuleIndex) -> bool {
        let known = percent(subject, rule);
        known.is_none_or(|percent| self.0.holds_measured(percent))
    }

    fn actual(&self, subject: &Subject<'_>, rule: RuleIndex) -> String {
        match percent(subject, rule) {
            Some(percent) => format!("{percent:.0} %"),
            None => "no capacity configured".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::holds;
    use crate::{RuleIndex, SeatUsage, ServiceMetrics, Services, Subject};
    use majordomo::Request;
    use serde_json::json;

    struct FixedSeats(Vec<(u64, u64)>);

    impl Services for FixedSeats {
        fn of_rule(&self, _: RuleIndex) -> Vec<ServiceMetrics> {
            let stats = |&(taken, capacity): &(u64, u64)| ServiceMetrics {
                ttft: None,
                seats: Some(SeatUsage { taken, capacity }),
            };
            self.0.iter().map(stats).collect()
        }
    }

    #[test]
    fn the_mean_over_services_with_a_capacity_is_compared() {
        let request = Request::user("hi");
        let busy = FixedSeats(vec![(1, 2), (0, 4), (9, 0)]);
        let subject = Subject::new(&request, "m").services(&busy);
        for (op, value, expected) in [
            ("util_le", 25, true),
            ("util_le", 24, false),
            ("util_ge", 25, true),
            ("util_ge", 26, false),
            ("util_lt", 25, false),
            ("util_lt", 26, true),
            ("util_gt", 25, false),
            ("util_gt", 24, true),
        ] {
            let held = holds("service_capacity", op, json!(value), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }

    #[test]
    fn all_operations_hold_if_no_service_has_a_capacity() {
        let request = Request::user("hi");
        let open = FixedSeats(vec![(9, 0)]);
        let subject = Subject::new(&request, "m").services(&open);
        for op in ["util_le", "util_ge", "util_lt", "util_gt"] {
            assert!(holds("service_capacity", op, json!(1), &subject), "{op}");
        }
    }
}
