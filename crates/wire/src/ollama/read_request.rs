//! Reads a client's request, of either form.

use std::borrow::Cow;

use bytes::Bytes;
use majordomo_llm::{Effort, OutputFormat, OutputSchema, Part, Prompt, Request};

use super::{OLLAMA, generate, image, options, read_message, tool_calls};
use crate::function_tool;
use crate::json::{self, Cursor, Kind, Read, Rest, keep};
use crate::{Incoming, ReadError};

/// Reads a request and keeps its bytes.
pub(super) fn read(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = Fields::default();
    json::read(&body, |cursor| {
        cursor.object(|key, cursor| fields.read(key, cursor))
    })?;
    let Fields {
        model,
        stream,
        is_chat,
        question,
        mut prompt,
        mut rest,
    } = fields;
    if is_chat {
        for (key, raw) in question.raw {
            rest.push(key, keep(raw));
        }
    } else {
        generate::fill(
            &mut prompt,
            &question.text,
            &question.system,
            question.pictures,
        );
    }
    tool_calls::pair(&mut prompt.messages);
    prompt.native = rest.into_native(OLLAMA);
    Ok(Incoming {
        model,
        stream: stream.unwrap_or(true),
        stream_usage: true,
        request: Request::from_wire(OLLAMA, body.clone(), prompt),
    })
}

#[derive(Default)]
struct Fields<'a> {
    model: Option<String>,
    stream: Option<bool>,
    is_chat: bool,
    question: Question<'a>,
    prompt: Prompt,
    rest: Rest,
}

/// What a generate request asks.
#[derive(Default)]
struct Question<'a> {
    text: Cow<'a, str>,
    system: Cow<'a, str>,
    pictures: Vec<Part>,
    /// The same fields as they came, for a chat that has them, too.
    raw: Vec<(String, &'a str)>,
}

impl<'a> Fields<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        let prompt = &mut self.prompt;
        match key {
            "model" => self.model = cursor.optional(|c| Ok(c.string()?.into_owned()))?,
            "messages" => {
                let read = cursor.optional(|c| {
                    c.array(|cursor| {
                        prompt.messages.push(read_message::read(cursor)?);
                        Ok(())
                    })
                })?;
                self.is_chat = read.is_some();
            }
            "prompt" | "system" | "images" => self.question.read(key, cursor)?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?,
            "tools" => {
                cursor
                    .optional(|c| c.array(|cursor| function_tool::read(cursor, prompt, OLLAMA)))?;
            }
            "format" => self.format(cursor)?,
            "think" => self.think(cursor)?,
            "options" => {
                let (prompt, rest) = (&mut self.prompt, &mut self.rest);
                cursor.optional(|c| {
                    c.object(|key, cursor| options::read(prompt, rest, key, cursor))
                })?;
            }
            _ => {
                let raw = cursor.raw()?;
                if !is_unset(key, raw) {
                    self.rest.push(key, keep(raw));
                }
            }
        }
        Ok(())
    }

    fn format(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let kind = cursor.peek()?;
        let raw = cursor.raw()?;
        self.prompt.output = match (kind, raw) {
            (Kind::Null, _) | (_, "\"\"") => OutputFormat::Text,
            (_, "\"json\"") => OutputFormat::Json,
            (Kind::Object, schema) => OutputFormat::Schema(OutputSchema {
                schema: keep(schema),
                name: None,
                strict: None,
            }),
            _ => {
                self.rest.push("format", keep(raw));
                OutputFormat::Text
            }
        };
        Ok(())
    }

    /// A switch or a level; "on" is the level in the middle.
    fn think(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let raw = cursor.raw()?;
        self.prompt.effort = Some(match raw {
            "null" => return Ok(()),
            "false" | "\"none\"" => Effort::None,
            "\"minimal\"" => Effort::Minimal,
            "\"low\"" => Effort::Low,
            "true" | "\"medium\"" => Effort::Medium,
            "\"high\"" => Effort::High,
            "\"xhigh\"" => Effort::XHigh,
            "\"max\"" => Effort::Max,
            _ => {
                self.rest.push("think", keep(raw));
                return Ok(());
            }
        });
        Ok(())
    }
}

impl<'a> Question<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        let ((), raw) = cursor.with_raw(|cursor| {
            match key {
                "prompt" => self.text = cursor.optional(Cursor::string)?.unwrap_or_default(),
                "system" => self.system = cursor.optional(Cursor::string)?.unwrap_or_default(),
                _ => {
                    cursor.optional(|c| {
                        c.array(|cursor| {
                            self.pictures.push(image::read(cursor)?);
                            Ok(())
                        })
                    })?;
                }
            }
            Ok(())
        })?;
        self.raw.push((key.to_owned(), raw));
        Ok(())
    }
}

/// Clients send these without meaning them.
fn is_unset(key: &str, raw: &str) -> bool {
    match key {
        "keep_alive" => matches!(raw, "null" | "\"\""),
        "raw" | "logprobs" => matches!(raw, "null" | "false"),
        "top_logprobs" => matches!(raw, "null" | "0"),
        "suffix" | "template" => matches!(raw, "null" | "\"\""),
        "context" => matches!(raw, "null" | "[]"),
        _ => false,
    }
}
