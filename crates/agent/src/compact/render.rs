//! Renders conversations as plain text for summarization.

use std::fmt::Write;

use majordomo_llm::{Message, Part, Role, ToolResult};

use crate::char_prefix::char_prefix;

/// Maximum bytes of a tool result.
const MAX_RESULT_LEN: usize = 4_000;

/// Renders messages as text. Only the last `max_len` bytes are kept.
pub(super) fn render(messages: &[Message], max_len: Option<u64>) -> String {
    let mut text = String::new();
    for message in messages {
        let author = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
        };
        for part in &message.parts {
            if let Some(content) = render_part(part) {
                // Writing to a `String` cannot fail.
                let _ = writeln!(text, "{author}: {content}");
            }
        }
    }
    let max_len = max_len.and_then(|bytes| usize::try_from(bytes).ok());
    match max_len {
        Some(max_len) if text.len() > max_len => {
            let mut start = text.len() - max_len;
            while !text.is_char_boundary(start) {
                start += 1;
            }
            format!("[the beginning is omitted]\n{}", &text[start..])
        }
        _ => text,
    }
}

fn render_part(part: &Part) -> Option<String> {
    Some(match part {
        Part::Text(text) | Part::Refusal(text) => text.text.clone(),
        Part::Image(_) | Part::RemoteImage(_) => "[image]".into(),
        Part::File(file) => format!("[file {}]", file.name.as_deref().unwrap_or("without name")),
        Part::ToolCall(call) => format!("[calls {} with {}]", call.name, call.arguments),
        Part::ToolResult(result) => render_result(result),
        Part::Reasoning(_) | Part::Opaque(_) => return None,
    })
}

fn render_result(result: &ToolResult) -> String {
    let name = result.name.as_deref().unwrap_or("tool");
    let status = if result.is_error {
        "failed"
    } else {
        "answered"
    };
    let content: Vec<String> = result.parts.iter().filter_map(render_part).collect();
    let content = content.join("\n");
    let short = char_prefix(&content, MAX_RESULT_LEN);
    let cut = if short.len() < content.len() {
        " […]"
    } else {
        ""
    };
    format!("[{name} {status}] {short}{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo_llm::ToolCall;

    #[test]
    fn messages_calls_and_results_are_rendered() {
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
    fn long_text_is_truncated_at_the_start() {
        let messages = [Message::user("ä".repeat(100)), Message::user("the end")];
        let text = render(&messages, Some(20));
        assert!(text.starts_with("[the beginning is omitted]\n"));
        assert!(text.ends_with("User: the end\n"));
        assert!(text.len() < 60);
    }
}
