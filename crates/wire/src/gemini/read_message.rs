//! Reads the conversation, one message for each content.
//!
//! Older models give their calls no id: one is made up, and an answer without
//! an id belongs to the first unanswered call of its name.

use majordomo_llm::{Json, Message, Part, Role, ToolCall, ToolResult};

use super::{GEMINI, keys, read_part};
use crate::json::{Cursor, Read, Rest};
use crate::open_calls::OpenCalls;

/// The messages so far, and the calls that wait for an answer.
#[derive(Default)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Message>,
    calls: usize,
    unanswered: OpenCalls,
}

impl Conversation {
    /// Reads the next content.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let mut word = None;
        let mut parts = Vec::new();
        let mut rest = Rest::default();
        keys::object(cursor, |key, cursor| {
            match key {
                "role" => word = cursor.optional(Cursor::string)?,
                "parts" => keys::one_or_many(cursor, |cursor| {
                    let (fields, raw) = read_part::fields(cursor)?;
                    parts.extend(fields.into_part(raw));
                    Ok(())
                })?,
                _ => rest.take(key, cursor)?,
            }
            Ok(())
        })?;
        let word = word.unwrap_or_default();
        let answers = |part: &Part| matches!(part, Part::ToolResult(_));
        let role = match &*word {
            "model" => Role::Assistant,
            "function" | "tool" => Role::Tool,
            _ if !parts.is_empty() && parts.iter().all(answers) => Role::Tool,
            _ => Role::User,
        };
        if !matches!(&*word, "" | "user" | "model") {
            rest.push("role", Json::string(&word));
        }
        self.pair(role, &mut parts);
        self.messages.push(Message {
            role,
            parts,
            native: rest.into_native(GEMINI),
        });
        Ok(())
    }

    /// Names calls, and finds the call of each answer.
    fn pair(&mut self, role: Role, parts: &mut [Part]) {
        // What an earlier turn left unanswered will stay so.
        let goes_on = self.messages.last().map(|m| m.role) == Some(Role::Assistant);
        if role == Role::Assistant && !goes_on {
            self.unanswered.clear();
        }
        for part in parts {
            match part {
                Part::ToolCall(call) => {
                    if call.id.is_empty() {
                        call.id = ToolCall::synthetic_id(self.calls);
                    }
                    self.calls += 1;
                    self.unanswered.push(&call.id, &call.name);
                }
                Part::ToolResult(result) => self.answer(result),
                _ => {}
            }
        }
    }

    fn answer(&mut self, result: &mut ToolResult) {
        if !result.call_id.is_empty() {
            self.unanswered.take_id(&result.call_id);
            return;
        }
        let name = result.name.as_deref().unwrap_or_default();
        let named = self.unanswered.take_name(name);
        if let Some(call) = named.or_else(|| self.unanswered.take_oldest()) {
            result.call_id = call.id;
        }
    }
}
