//! `model`: the name that the client asked for, whoever will serve it.

use super::check::on_text;
use super::{Op, Position};
use crate::rules::Subject;
use crate::rules::text_match::{contains, equals, glob};

pub(super) const MODEL: Position = Position {
    name: "model",
    ops: &[
        Op {
            name: "equals",
            compile: |value| on_text(value, read, equals),
        },
        Op {
            name: "contains",
            compile: |value| on_text(value, read, contains),
        },
        Op {
            name: "glob",
            compile: |value| on_text(value, read, glob),
        },
    ],
};

fn read<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
    Some(subject.model())
}

#[cfg(test)]
mod tests {
    use crate::rules::Subject;
    use crate::rules::tests::holds;
    use majordomo::Request;
    use serde_json::json;

    #[test]
    fn the_asked_name_is_judged() {
        let request = Request::user("hi");
        let subject = Subject::new(&request, "openai/gpt-6-luna");
        for (op, value, expected) in [
            ("equals", "openai/gpt-6-luna", true),
            ("equals", "gpt-6-luna", false),
            ("contains", "gpt", true),
            ("contains", "claude", false),
            ("glob", "openai/*", true),
            ("glob", "gpt-*", false),
        ] {
            let held = holds("model", op, json!(value), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }
}
