//! `tool`: names of tools declared in the request. `tool_use`: names of tools that
//! the model has called in this conversation.

use majordomo::Message;

use super::check::check_names;
use super::{Op, Position};
use crate::Subject;
use crate::text_match::{contains, equals, glob};

pub(super) const TOOL: Position = Position {
    name: "tool",
    ops: &[
        Op {
            name: "equals",
            compile: |value| check_names(value, declared, equals),
        },
        Op {
            name: "contains",
            compile: |value| check_names(value, declared, contains),
        },
        Op {
            name: "glob",
            compile: |value| check_names(value, declared, glob),
        },
    ],
};

pub(super) const TOOL_USE: Position = Position {
    name: "tool_use",
    ops: &[Op {
        name: "equals",
        compile: |value| check_names(value, called, equals),
    }],
};

/// Functions by name, hosted tools by type.
fn declared(subject: &Subject<'_>, enough: &mut dyn FnMut(&str) -> bool) -> bool {
    let prompt = subject.request();
    prompt.prompt().tools.iter().any(|tool| enough(&tool.name))
        || prompt
            .prompt()
            .hosted_tools
            .iter()
            .any(|tool| enough(&tool.kind))
}

fn called(subject: &Subject<'_>, enough: &mut dyn FnMut(&str) -> bool) -> bool {
    let mut calls = subject
        .request()
        .prompt()
        .messages
        .iter()
        .flat_map(Message::tool_calls);
    calls.any(|call| enough(&call.name))
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::{holds, read};
    use majordomo::{Message, Part, Request, Tool, ToolCall};
    use majordomo_wire::Protocol;
    use serde_json::json;

    #[test]
    fn declared_and_called_tools_are_distinguished() {
        let call = ToolCall::new("call_0", "read_file", "{}");
        let request = Request::user("hi")
            .tool(Tool::new("web_search"))
            .message(Message::assistant(Part::ToolCall(call)));
        let subject = Subject::new(&request, "m");
        for (position, op, value, expected) in [
            ("tool", "equals", "web_search", true),
            ("tool", "equals", "read_file", false),
            ("tool", "contains", "search", true),
            ("tool", "glob", "web_*", true),
            ("tool", "glob", "mcp__*", false),
            ("tool_use", "equals", "read_file", true),
            ("tool_use", "equals", "web_search", false),
        ] {
            let held = holds(position, op, json!(value), &subject);
            assert_eq!(held, expected, "{position} {op} {value}");
        }
    }

    #[test]
    fn a_hosted_tool_is_declared_by_its_type() {
        let body = json!({
            "model": "m", "max_tokens": 9,
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
            "messages": [{"role": "user", "content": "hi"}],
        });
        let request = read(Protocol::Messages, &body);
        let subject = Subject::new(&request, "m");
        assert!(holds("tool", "glob", json!("web_search*"), &subject));
    }
}
