//! Reads a client's request body.

use bytes::Bytes;
use majordomo_llm::{Json, Prompt, Request, Text};

use super::opaque::OPAQUE;
use super::read_message::GeminiConversation;
use super::{GEMINI, keys, models, read_config, read_part, tools};
use crate::json::{self, Cursor, JsonKind, ReadResult, Rest};
use crate::{Incoming, ReadError};

/// Reads a `generateContent` or `countTokens` request and keeps its bytes for
/// splicing.
pub(super) fn read_request(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = GeminiRequestFields::default();
    let ((), skipped) = json::read_recording(&body, |cursor| {
        keys::object(cursor, |key, cursor| match (key, cursor.peek()?) {
            // `countTokens` may nest a complete request.
            ("generateContentRequest", JsonKind::Object) => {
                keys::object(cursor, |key, cursor| fields.read_field(key, cursor))
            }
            _ => fields.read_field(key, cursor),
        })
    })?;
    let GeminiRequestFields {
        model,
        mut prompt,
        conversation,
        rest,
    } = fields;
    prompt.messages = conversation.messages;
    prompt.native = rest.into_native(GEMINI);
    OPAQUE.declare(&mut prompt);
    OPAQUE.declare_unread(&mut prompt, &body, &skipped);
    Ok(Incoming {
        model,
        stream: false,
        stream_usage: true,
        request: Request::from_wire(GEMINI, body, prompt),
    })
}

#[derive(Default)]
struct GeminiRequestFields {
    model: Option<String>,
    prompt: Prompt,
    conversation: GeminiConversation,
    rest: Rest,
}

impl GeminiRequestFields {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let (prompt, rest) = (&mut self.prompt, &mut self.rest);
        match (key, cursor.peek()?) {
            ("model", JsonKind::String) => {
                self.model = Some(models::model_id(&cursor.string()?).to_owned());
            }
            ("contents", _) => {
                keys::one_or_many(cursor, |cursor| self.conversation.read_content(cursor))?;
            }
            ("systemInstruction", JsonKind::String) => {
                prompt.system.push(Text::new(cursor.string()?));
            }
            ("systemInstruction", JsonKind::Object) => {
                read_system_instruction(cursor, prompt, rest)?
            }
            ("tools", _) => keys::one_or_many(cursor, |cursor| tools::read_tool(cursor, prompt))?,
            ("toolConfig", JsonKind::Object) => tools::read_tool_config(cursor, prompt, rest)?,
            ("generationConfig", JsonKind::Object) => {
                read_config::read_generation_config(cursor, prompt, rest)?
            }
            // Null means absent for all of these.
            ("model" | "systemInstruction" | "toolConfig" | "generationConfig", JsonKind::Null) => {
            }
            _ => rest.take(key, cursor)?,
        }
        Ok(())
    }
}

/// Reads `systemInstruction`; parts other than text stay opaque.
fn read_system_instruction(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    let mut others = Vec::new();
    keys::object(cursor, |key, cursor| match key {
        "parts" => keys::one_or_many(cursor, |cursor| {
            let (fields, raw) = read_part::read_part(cursor)?;
            match fields.into_part(raw) {
                Some(majordomo_llm::Part::Text(text)) => prompt.system.push(text),
                Some(_) => others.push(raw),
                None => {}
            }
            Ok(())
        }),
        _ => Ok(()),
    })?;
    if let Ok(others) = Json::parse(format!("[{}]", others.join(",")))
        && others.as_str() != "[]"
    {
        rest.push("systemInstruction.parts", others);
    }
    Ok(())
}
