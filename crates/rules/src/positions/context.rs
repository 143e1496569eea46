//! `context_system` and `context_user`: all system text, all user text.

use super::check::check_conversation;
use super::{Op, Position};
use crate::Subject;
use crate::text_match::{contains, regex};

pub(super) const CONTEXT_SYSTEM: Position = Position {
    name: "context_system",
    ops: &[
        Op {
            name: "contains",
            compile: |value| check_conversation(value, system, contains),
        },
        Op {
            name: "regex",
            compile: |value| check_conversation(value, system, regex),
        },
    ],
};

pub(super) const CONTEXT_USER: Position = Position {
    name: "context_user",
    ops: &[
        Op {
            name: "contains",
            compile: |value| check_conversation(value, user, contains),
        },
        Op {
            name: "regex",
            compile: |value| check_conversation(value, user, regex),
        },
    ],
};

fn system<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
    Some(subject.system_text())
}

fn user<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
    Some(subject.user_text())
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::{Message, Request};
    use serde_json::json;

    #[test]
    fn system_and_user_text_are_matched_separately() {
        let request = Request::user("first question")
            .system("You are terse.")
            .message(Message::assistant("an answer"))
            .message(Message::user("second question"));
        let subject = Subject::new(&request, "m");
        for (position, op, value, expected) in [
            ("context_system", "contains", "terse", true),
            ("context_system", "contains", "question", false),
            ("context_system", "regex", r"^You are \w+\.$", true),
            ("context_user", "contains", "first", true),
            ("context_user", "contains", "answer", false),
            ("context_user", "contains", "first question\nsecond", true),
            ("context_user", "regex", r"(?m)^second", true),
            ("context_user", "regex", r"terse", false),
        ] {
            let held = holds(position, op, json!(value), &subject);
            assert_eq!(held, expected, "{position} {op} {value}");
        }
    }
}
