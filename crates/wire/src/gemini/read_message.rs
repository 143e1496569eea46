//! Reads `contents`, one message per content.
//!
//! Older models send function calls without an id: one is generated, and a
//! `functionResponse` without an id belongs to the first pending call of its name.

use majordomo_llm::{Json, Message, Part, Role, ToolCall, ToolResult};

use super::{GEMINI, keys, read_part};
use crate::json::{self, Cursor, ReadResult, Rest, keep};
use crate::open_calls::OpenCalls;

/// The messages so far and the calls without a result.
#[derive(Default)]
pub(super) struct GeminiConversation {
    pub(super) messages: Vec<Message>,
    calls: usize,
    pending: OpenCalls,
}

impl GeminiConversation {
    /// Reads the next content.
    pub(super) fn read_content(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let mut name = None;
        let mut parts = Vec::new();
        let mut rest = Rest::default();
        keys::object(cursor, |key, cursor| {
            match key {
                "role" => name = cursor.optional(Cursor::string)?,
                "parts" => {
                    let ((), raw) = cursor.with_raw(|cursor| {
                        keys::one_or_many(cursor, |cursor| {
                            let (fields, raw) = read_part::read_part(cursor)?;
                            parts.extend(fields.into_part(raw));
                            Ok(())
                        })
                    })?;
                    // Keep an empty list distinct from a list with an empty text.
                    if json::is_empty(raw) {
                        rest.push("parts", keep(raw));
                    }
                }
                _ => rest.take(key, cursor)?,
            }
            Ok(())
        })?;
        let name = name.unwrap_or_default();
        let is_result = |part: &Part| part.as_tool_result().is_some();
        let role = match &*name {
            "model" => Role::Assistant,
            "function" | "tool" => Role::Tool,
            _ if !parts.is_empty() && parts.iter().all(is_result) => Role::Tool,
            _ => Role::User,
        };
        if !matches!(&*name, "" | "user" | "model") {
            rest.push("role", Json::string(&name));
        }
        self.match_calls(role, &mut parts);
        self.messages.push(Message {
            role,
            parts,
            native: rest.into_native(GEMINI),
        });
        Ok(())
    }

    /// Assigns ids to calls and matches each result with its call.
    fn match_calls(&mut self, role: Role, parts: &mut [Part]) {
        // Calls still pending from an earlier turn will get no result.
        let same_turn = self.messages.last().map(|m| m.role) == Some(Role::Assistant);
        if role == Role::Assistant && !same_turn {
            self.pending.clear();
        }
        for part in parts {
            match part {
                Part::ToolCall(call) => {
                    if call.id.is_empty() {
                        call.id = ToolCall::synthetic_id(self.calls);
                    }
                    self.calls += 1;
                    self.pending.push(&call.id, &call.name);
                }
                Part::ToolResult(result) => self.match_result(result),
                Part::Text(_)
                | Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::File(_)
                | Part::Opaque(_) => {}
            }
        }
    }

    fn match_result(&mut self, result: &mut ToolResult) {
        if !result.call_id.is_empty() {
            self.pending.take_id(&result.call_id);
            return;
        }
        let name = result.name.as_deref().unwrap_or_default();
        let named = self.pending.take_name(name);
        if let Some(call) = named.or_else(|| self.pending.take_oldest()) {
            result.call_id = call.id;
        }
    }
}
