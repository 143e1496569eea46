//! Reads one message of a conversation.

use majordomo_llm::{Json, Message, Part, Role};

use super::MESSAGES;
use super::read_part::read_content;
use crate::json::{Cursor, ReadResult, Rest};

/// Reads a message. One that holds only tool results gets the tool role.
pub(super) fn read_message(cursor: &mut Cursor<'_>) -> ReadResult<Message> {
    let mut word = None;
    let mut parts = Vec::new();
    let mut rest = Rest::default();
    cursor.object(|key, cursor| match &**key {
        "role" => {
            word = cursor.optional(Cursor::string)?;
            Ok(())
        }
        "content" => read_content(cursor, &mut parts),
        _ => rest.take(key.as_ref(), cursor),
    })?;
    let is_result = |part: &Part| part.as_tool_result().is_some();
    let only_results = !parts.is_empty() && parts.iter().all(is_result);
    let word = word.unwrap_or_default();
    let role = match &*word {
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ if only_results => Role::Tool,
        _ => Role::User,
    };
    if !matches!(&*word, "user" | "assistant" | "system") {
        rest.push("role", Json::string(&word));
    }
    Ok(Message {
        role,
        parts,
        native: rest.into_native(MESSAGES),
    })
}
