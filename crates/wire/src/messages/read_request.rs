//! Reads a client's request.

use bytes::Bytes;
use majordomo_llm::{Native, Opaque, Part, Prompt, Request, Text, Tool};

use super::read_settings::Settings;
use super::{MESSAGES, read_message, read_part};
use crate::json::{self, Cursor, Kind, Read, Rest, keep};
use crate::{Incoming, ReadError};

/// The schema of a tool that takes nothing; the dialect demands one.
pub(super) const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// Reads a request and keeps its bytes.
pub(super) fn read(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = Fields::default();
    json::read(&body, |cursor| {
        cursor.object(|key, cursor| fields.read(key, cursor))
    })?;
    let Fields {
        model,
        stream,
        mut prompt,
        settings,
        mut rest,
    } = fields;
    settings.apply(&mut prompt, &mut rest);
    prompt.native = rest.into_native(MESSAGES);
    Ok(Incoming {
        model,
        stream,
        // It is part of every stream.
        stream_usage: true,
        request: Request::from_wire(MESSAGES, body, prompt),
    })
}

#[derive(Default)]
struct Fields<'a> {
    model: Option<String>,
    stream: bool,
    prompt: Prompt,
    settings: Settings<'a>,
    rest: Rest,
}

impl<'a> Fields<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        let prompt = &mut self.prompt;
        match key {
            "model" => self.model = cursor.optional(|c| Ok(c.string()?.into_owned()))?,
            "messages" => cursor.array(|cursor| {
                let message = read_message::read(cursor)?;
                prompt.messages.push(message);
                Ok(())
            })?,
            "system" => prompt.system = system(cursor)?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?.unwrap_or_default(),
            "tools" => {
                cursor.optional(|c| c.array(|cursor| tool(cursor, prompt)))?;
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
            _ => self.settings.read(key, cursor, prompt, &mut self.rest)?,
        }
        Ok(())
    }
}

/// A string or a list of text blocks. A block of another type is kept beside
/// an empty text, where its own dialect finds it.
fn system(cursor: &mut Cursor<'_>) -> Read<Vec<Text>> {
    let mut texts = Vec::new();
    let mut take = |part: Part, raw: &str| match part {
        Part::Text(text) => texts.push(text),
        _ => texts.push(Text {
            text: String::new(),
            native: Native::new(MESSAGES).with("block", keep(raw)).into_option(),
        }),
    };
    match cursor.peek()? {
        Kind::Array => cursor.array(|cursor| {
            let (part, raw) = cursor.with_raw(read_part::part)?;
            take(part, raw);
            Ok(())
        })?,
        _ => {
            let mut parts = Vec::new();
            read_part::content(cursor, &mut parts)?;
            parts.into_iter().for_each(|part| take(part, ""));
        }
    }
    Ok(texts)
}

fn tool(cursor: &mut Cursor<'_>, prompt: &mut Prompt) -> Read<()> {
    let mut tool = Tool::new("");
    let mut kind = None;
    let mut rest = Rest::default();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("type", Kind::String) => kind = Some(cursor.string()?),
                ("name", _) => tool.name = cursor.string()?.into_owned(),
                ("description", Kind::String) => {
                    tool.description = Some(cursor.string()?.into_owned());
                }
                ("input_schema", Kind::Object) => {
                    let schema = cursor.raw()?;
                    tool.parameters = Some(keep(schema)).filter(|_| schema != NO_PARAMETERS);
                }
                ("strict", Kind::Bool) => tool.strict = Some(cursor.bool()?),
                ("type" | "description" | "strict" | "cache_control", Kind::Null) => {}
                _ => rest.take(key.as_ref(), cursor)?,
            }
            Ok(())
        })
    })?;
    match kind {
        Some(kind) if kind != "custom" => prompt.hosted_tools.push(Opaque {
            origin: MESSAGES,
            kind: kind.into_owned(),
            raw: keep(raw),
        }),
        // `custom` is what the absence of a type means.
        _ => {
            tool.native = rest.into_native(MESSAGES);
            prompt.tools.push(tool);
        }
    }
    Ok(())
}
