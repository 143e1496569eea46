//! Reads a client's request.

use bytes::Bytes;
use majordomo_llm::{Native, Opaque, Part, Prompt, Request, Text, Tool};

use super::opaque::OPAQUE;
use super::read_settings::MessagesSettings;
use super::{MESSAGES, read_message, read_part};
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};
use crate::splice;
use crate::{Incoming, ReadError};

/// The schema of a tool without parameters; the dialect requires one.
pub(super) const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// Reads a request and keeps its bytes.
pub(super) fn read_request(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = MessagesRequestFields::default();
    let read = splice::read_body(&body, |key, cursor| fields.read_field(key, cursor))?;
    let MessagesRequestFields {
        model,
        stream,
        mut prompt,
        settings,
        mut rest,
    } = fields;
    settings.apply(&mut prompt, &mut rest);
    prompt.native = rest.into_native(MESSAGES);
    OPAQUE.declare(&mut prompt);
    OPAQUE.declare_unread(&mut prompt, &body, &read.skipped);
    Ok(Incoming {
        model,
        stream,
        // Every stream includes usage.
        stream_usage: true,
        request: Request::from_wire(MESSAGES, body, prompt).with_spans(read.spans),
    })
}

#[derive(Default)]
struct MessagesRequestFields<'a> {
    model: Option<String>,
    stream: bool,
    prompt: Prompt,
    settings: MessagesSettings<'a>,
    rest: Rest,
}

impl<'a> MessagesRequestFields<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let prompt = &mut self.prompt;
        match key {
            "model" => self.model = cursor.optional(|c| Ok(c.string()?.into_owned()))?,
            "messages" => cursor.optional_array(|cursor| {
                let message = read_message::read_message(cursor)?;
                prompt.messages.push(message);
                Ok(())
            })?,
            "system" => prompt.system = read_system(cursor)?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?.unwrap_or_default(),
            "tools" => {
                cursor.optional(|c| c.array(|cursor| read_tool(cursor, prompt)))?;
            }
            "max_tokens" => prompt.max_tokens = cursor.optional(Cursor::unsigned)?,
            "temperature" => prompt.temperature = cursor.optional(Cursor::float)?,
            "top_p" => prompt.top_p = cursor.optional(Cursor::float)?,
            "top_k" => {
                prompt.top_k = cursor
                    .optional(Cursor::signed)?
                    .and_then(|k| k.try_into().ok());
            }
            "stop_sequences" => {
                cursor.optional(|cursor| {
                    cursor.array(|cursor| {
                        prompt.stop.push(cursor.string()?.into_owned());
                        Ok(())
                    })
                })?;
            }
            _ => self
                .settings
                .read_setting(key, cursor, prompt, &mut self.rest)?,
        }
        Ok(())
    }
}

/// Reads a string or a list of text blocks. A block of another type is kept
/// alongside an empty text, for its own dialect.
fn read_system(cursor: &mut Cursor<'_>) -> ReadResult<Vec<Text>> {
    let mut texts = Vec::new();
    let mut take = |part: Part, raw: &str| match part {
        Part::Text(text) => texts.push(text),
        Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => texts.push(Text {
            text: String::new(),
            native: Native::new(MESSAGES).with("block", keep(raw)).into_option(),
        }),
    };
    match cursor.peek()? {
        JsonKind::Array => cursor.array(|cursor| {
            let (part, raw) = cursor.with_raw(read_part::read_part)?;
            take(part, raw);
            Ok(())
        })?,
        _ => {
            let mut parts = Vec::new();
            read_part::read_content(cursor, &mut parts)?;
            parts.into_iter().for_each(|part| take(part, ""));
        }
    }
    Ok(texts)
}

fn read_tool(cursor: &mut Cursor<'_>, prompt: &mut Prompt) -> ReadResult<()> {
    let mut tool = Tool::new("");
    let mut kind = None;
    let mut rest = Rest::default();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("type", JsonKind::String) => kind = Some(cursor.string()?),
                ("name", _) => tool.name = cursor.string()?.into_owned(),
                ("description", JsonKind::String) => tool.description = cursor.optional_text()?,
                ("input_schema", JsonKind::Object) => {
                    let schema = cursor.raw()?;
                    tool.parameters = Some(keep(schema)).filter(|_| schema != NO_PARAMETERS);
                }
                ("strict", JsonKind::Bool) => tool.strict = Some(cursor.bool()?),
                ("type" | "description" | "strict" | "cache_control", JsonKind::Null) => {}
                _ => rest.take(key.as_ref(), cursor)?,
            }
            Ok(())
        })
    })?;
    match kind {
        Some(kind) if kind != "custom" => {
            prompt
                .hosted_tools
                .push(Opaque::new(MESSAGES, kind, keep(raw)))
        }
        // A missing type means `custom`.
        _ => {
            tool.native = rest.into_native(MESSAGES);
            prompt.tools.push(tool);
        }
    }
    Ok(())
}
