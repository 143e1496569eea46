//! `agent.claude_code`: the kind of a Claude Code request, recognized by its prompt.
//! Never holds for other clients.

use super::check::check_text;
use super::{Op, Position};
use crate::Subject;
use crate::error::InvalidValue;
use crate::fingerprint::ClaudeCode;
use crate::text_match::{TextMatch, equals};
use crate::value::listed;

pub(super) const CLAUDE_CODE: Position = Position {
    name: "agent.claude_code",
    ops: &[Op {
        name: "equals",
        compile: |value| check_text(value, kind, known_kind),
    }],
};

fn kind<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
    subject.claude_code().map(ClaudeCode::as_str)
}

fn known_kind(value: &str) -> Result<TextMatch, InvalidValue> {
    let kinds = ClaudeCode::ALL.map(ClaudeCode::as_str);
    if kinds.contains(&value) {
        return equals(value);
    }
    let bad = InvalidValue::new(format!(
        "unknown kind `{value}`; expected one of {}",
        listed(&kinds)
    ));
    Err(bad.nearest(value, kinds))
}

#[cfg(test)]
mod tests {
    use crate::tests::holds;
    use crate::{ConditionSpec, Subject, compile};
    use majordomo::Request;
    use serde_json::json;

    #[test]
    fn the_kind_is_compared_and_other_clients_have_none() {
        let main = Request::user("hi").system("You are Claude Code.");
        let other = Request::user("hi").system("You are terse.");
        for kind in ["main", "subagent", "compact"] {
            let is = |request: &Request| {
                let subject = Subject::new(request, "m");
                holds("agent.claude_code", "equals", json!(kind), &subject)
            };
            assert_eq!((is(&main), is(&other)), (kind == "main", false), "{kind}");
        }
    }

    #[test]
    fn an_unknown_kind_is_rejected_with_the_nearest() {
        let spec = ConditionSpec::leaf("agent.claude_code", "equals", "sub-agent");
        let errors = compile(&spec).unwrap_err();
        assert_eq!(errors[0].suggestion.as_deref(), Some("subagent"));
    }
}
