//! Validation of conversations.

use std::collections::HashSet;

use majordomo_llm::{Message, Role};

/// Checks that a conversation is valid for every provider: each tool call has exactly one
/// result, in order, in the next message, and call ids are unique.
///
/// # Errors
///
/// Returns a description of the first violation.
///
/// ```
/// use majordomo::agent::check_transcript;
/// use majordomo::{Message, Part, ToolCall, ToolResult};
///
/// let call = ToolCall::new("call_0", "look", "{}");
/// let mut messages = vec![
///     Message::user("what do you see?"),
///     Message::assistant(Part::ToolCall(call.clone())),
/// ];
/// assert!(check_transcript(&messages).is_err());
/// messages.push(Message::tool_results_message([ToolResult::new(&call, "a cat")]));
/// assert!(check_transcript(&messages).is_ok());
/// ```
pub fn check_transcript(messages: &[Message]) -> Result<(), String> {
    let mut used = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let answered: Vec<&str> = message
            .tool_results()
            .map(|result| result.call_id.as_str())
            .collect();
        if answered != open {
            return Err(format!(
                "message {at} has results for the calls {answered:?}, but {open:?} are open"
            ));
        }
        let calls = message.tool_calls().map(|call| call.id.as_str());
        open = calls.collect();
        if !open.is_empty() && message.role != Role::Assistant {
            return Err(format!(
                "message {at} calls tools, but is not an assistant message"
            ));
        }
        if let Some(twice) = open.iter().find(|id| !used.insert(**id)) {
            return Err(format!("message {at} reuses the call id {twice:?}"));
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("the calls {open:?} have no results"))
    }
}
