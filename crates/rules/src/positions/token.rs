//! `token`: the estimated tokens of the whole request: system text, messages of all
//! roles, tools, tool results, and images at their token cost.

use super::Position;
use super::shared::{NumberInput, NumberOps};
use crate::Subject;

pub(super) const TOKEN: Position = Position {
    name: "token",
    ops: NumberOps::<TokenEstimate>::WITHOUT_EQ,
};

struct TokenEstimate;

impl NumberInput for TokenEstimate {
    fn read(subject: &Subject<'_>) -> u64 {
        subject.tokens()
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::Request;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_estimate_is_compared() {
        let request = Request::user("hi");
        let subject = Subject::new(&request, "m").estimate(&|_| 1_000);
        for (op, value, expected) in [
            ("ge", 1_000, true),
            ("ge", 1_001, false),
            ("gt", 1_000, false),
            ("gt", 999, true),
            ("le", 1_000, true),
            ("le", 999, false),
            ("lt", 1_000, false),
            ("lt", 1_001, true),
        ] {
            let held = holds("token", op, json!(value), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }

    #[test]
    fn the_estimate_is_computed_once_for_all_conditions() {
        let calls = AtomicUsize::new(0);
        let estimate = |_: &Request| {
            calls.fetch_add(1, Ordering::Relaxed);
            7
        };
        let request = Request::user("hi");
        let subject = Subject::new(&request, "m").estimate(&estimate);
        assert_eq!(calls.load(Ordering::Relaxed), 0, "the estimate is lazy");
        holds("token", "ge", json!(1), &subject);
        holds("token", "lt", json!(1), &subject);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
