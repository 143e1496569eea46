//! A conversation as plain text, for whoever summarises it.

use std::fmt::Write;

use majordomo_llm::{Message, Part, Role, ToolResult};

use crate::head::head;

/// A summary needs the gist of a result, not all of it.
const LONGEST_RESULT: usize = 4_000;

/// The messages as text of at most `longest` bytes; the end counts more than the
/// beginning.
pub(super) fn render(messages: &[Message], longest: Option<u64>) -> String {
    let mut text = String::new();
    for message in messages {
        let who = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
        };
        for part in &message.parts {
            if let Some(said) = say(part) {
                // Writing to a String does not fail.
                let _ = writeln!(text, "{who}: {said}");
            }
        }
    }
    let longest = longest.and_then(|bytes| usize::try_from(bytes).ok());
    match longest {
        Some(longest) if text.len() > longest => {
            let mut start = text.len() - longest;
            while !text.is_char_boundary(start) {
                start += 1;
            }
            format!("[the beginning is left out]\n{}", &text[start..])
        }
        _ => text,
    }
}

fn say(part: &Part) -> Option<String> {
    Some(match part {
        Part::Text(text) | Part::Refusal(text) => text.text.clone(),
        Part::Image(_) | Part::RemoteImage(_) => "[image]".into(),
        Part::File(file) => format!("[file {}]", file.name.as_deref().unwrap_or("without name")),
        Part::ToolCall(call) => format!("[calls {} with {}]", call.name, call.arguments),
        Part::ToolResult(result) => answer(result),
        Part::Reasoning(_) | Part::Opaque(_) => return None,
    })
}

fn answer(result: &ToolResult) -> String {
    let name = result.name.as_deref().unwrap_or("tool");
    let how = if result.is_error {
        "failed"
    } else {
        "answered"
    };
    let said: Vec<String> = result.parts.iter().filter_map(say).collect();
    let said = said.join("\n");
    let short = head(&said, LONGEST_RESULT);
    let cut = if short.len() < said.len() {
        " […]"
    } else {
        ""
    };
    format!("[{name} {how}] {short}{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo_llm::ToolCall;

    #[test]
    fn everything_that_was_said_and_done_is_told() {
        let call = ToolCall::new("a", "look", "{\"at\":1}");
        let mut result = ToolResult::error(&call, "x".repeat(5_000));
        result.parts.push(Part::image("image/png", vec![1]));
        let messages = [
            Message::user("hi"),
            Message::assistant(Part::ToolCall(call)),
            Message::tool_results_message([result]),
        ];
        let text = render(&messages, None);
        assert!(text.starts_with(
            "User: hi\nAssistant: [calls look with {\"at\":1}]\nTool: [look failed] xxx"
        ));
        assert!(text.ends_with("x […]\n"));
        assert!(text.len() < 4_200);
    }

    #[test]
    fn a_text_that_is_too_long_keeps_its_end() {
        let messages = [Message::user("ä".repeat(100)), Message::user("the end")];
        let text = render(&messages, Some(20));
        assert!(text.starts_with("[the beginning is left out]\n"));
        assert!(text.ends_with("User: the end\n"));
        assert!(text.len() < 60);
    }
}
