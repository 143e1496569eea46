//! Reads a client's request.

use bytes::Bytes;
use majordomo_llm::{Json, Prompt, Request, Text};

use super::read_message::Conversation;
use super::{GEMINI, keys, models, read_config, read_part, tools};
use crate::json::{self, Cursor, JsonKind, ReadResult, Rest};
use crate::{Incoming, ReadError};

/// Reads a request, or a question for its tokens, and keeps its bytes.
pub(super) fn read(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = Fields::default();
    json::read(&body, |cursor| {
        keys::object(cursor, |key, cursor| match (key, cursor.peek()?) {
            // A question for tokens may hold the whole request.
            ("generateContentRequest", JsonKind::Object) => {
                keys::object(cursor, |key, cursor| fields.read(key, cursor))
            }
            _ => fields.read(key, cursor),
        })
    })?;
    let Fields {
        model,
        mut prompt,
        conversation,
        rest,
    } = fields;
    prompt.messages = conversation.messages;
    prompt.native = rest.into_native(GEMINI);
    Ok(Incoming {
        model,
        stream: false,
        stream_usage: true,
        request: Request::from_wire(GEMINI, body, prompt),
    })
}

#[derive(Default)]
struct Fields {
    model: Option<String>,
    prompt: Prompt,
    conversation: Conversation,
    rest: Rest,
}

impl Fields {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let (prompt, rest) = (&mut self.prompt, &mut self.rest);
        match (key, cursor.peek()?) {
            ("model", JsonKind::String) => {
                self.model = Some(models::id_of(&cursor.string()?).to_owned());
            }
            ("contents", _) => {
                keys::one_or_many(cursor, |cursor| self.conversation.read(cursor))?;
            }
            ("systemInstruction", JsonKind::String) => {
                prompt.system.push(Text::new(cursor.string()?));
            }
            ("systemInstruction", JsonKind::Object) => instructions(cursor, prompt, rest)?,
            ("tools", _) => keys::one_or_many(cursor, |cursor| tools::read(cursor, prompt))?,
            ("toolConfig", JsonKind::Object) => tools::read_config(cursor, prompt, rest)?,
            ("generationConfig", JsonKind::Object) => read_config::read(cursor, prompt, rest)?,
            // Absent and null are the same for all of these.
            ("model" | "systemInstruction" | "toolConfig" | "generationConfig", JsonKind::Null) => {
            }
            _ => rest.take(key, cursor)?,
        }
        Ok(())
    }
}

/// Instructions are text; whatever else is among them stays as it is.
fn instructions(cursor: &mut Cursor<'_>, prompt: &mut Prompt, rest: &mut Rest) -> ReadResult<()> {
    let mut others = Vec::new();
    keys::object(cursor, |key, cursor| match key {
        "parts" => keys::one_or_many(cursor, |cursor| {
            let (fields, raw) = read_part::fields(cursor)?;
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
