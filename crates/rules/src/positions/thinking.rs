//! `thinking`: whether the client requested thinking.
//!
//! The value `false` makes the condition never hold. It does not negate it; use the
//! opposite operation for that.

use super::check::{Check, Compiled};
use super::{Op, Position};
use crate::{RuleIndex, Subject, value};
use serde_json::Value;

pub(super) const THINKING: Position = Position {
    name: "thinking",
    ops: &[
        Op {
            name: "enabled",
            compile: |value| compile(value, true),
        },
        Op {
            name: "disabled",
            compile: |value| compile(value, false),
        },
    ],
};

#[derive(Debug)]
struct ThinkingCheck {
    wanted: bool,
    switched_on: bool,
}

fn compile(value: Option<&Value>, wanted: bool) -> Compiled {
    let switched_on = value::switch(value)?;
    Ok(Box::new(ThinkingCheck {
        wanted,
        switched_on,
    }))
}

impl Check for ThinkingCheck {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        self.switched_on && subject.thinking() == self.wanted
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        let word = if subject.thinking() { "on" } else { "off" };
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::{holds, read};
    use majordomo::{Effort, Request};
    use majordomo_wire::Protocol;
    use serde_json::json;

    #[test]
    fn an_effort_or_a_budget_counts_as_thinking() {
        let quiet = Request::user("hi");
        let mut budget = quiet.clone();
        budget.edit().reasoning_budget = Some(1_024);
        for (request, expected) in [
            (quiet.clone(), false),
            (quiet.clone().effort(Effort::None), false),
            (quiet.clone().effort(Effort::Low), true),
            (budget, true),
        ] {
            let subject = Subject::new(&request, "m");
            assert_eq!(
                holds("thinking", "enabled", json!(true), &subject),
                expected
            );
            assert_eq!(
                holds("thinking", "disabled", json!(""), &subject),
                !expected
            );
        }
    }

    #[test]
    fn of_the_anthropic_forms_only_enabled_counts() {
        for (thinking, expected) in [
            (json!({"type": "enabled", "budget_tokens": 1_024}), true),
            (json!({"type": "enabled"}), true),
            (json!({"type": "adaptive"}), false),
            (json!({"type": "disabled"}), false),
        ] {
            let body = json!({
                "model": "m", "max_tokens": 9, "thinking": thinking,
                "output_config": {"effort": "high"},
                "messages": [{"role": "user", "content": "hi"}],
            });
            let request = read(Protocol::Messages, &body);
            let subject = Subject::new(&request, "m");
            assert_eq!(subject.thinking(), expected, "{thinking}");
        }
    }

    #[test]
    fn a_value_of_false_never_holds() {
        let request = Request::user("hi");
        let subject = Subject::new(&request, "m");
        assert!(!holds("thinking", "enabled", json!(false), &subject));
        assert!(!holds("thinking", "disabled", json!("false"), &subject));
    }
}
