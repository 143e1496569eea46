//! Reads a client's request body, for either endpoint.

use std::borrow::Cow;

use bytes::Bytes;
use majordomo_llm::{Effort, OutputFormat, OutputSchema, Part, Prompt, Request};

use super::{OLLAMA, generate, image, options, read_message, tool_calls};
use crate::function_tool;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};
use crate::splice;
use crate::{Incoming, ReadError};

/// Reads a request and keeps its bytes for splicing.
pub(super) fn read_request(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = OllamaRequestFields::default();
    let read = splice::read_body(&body, |key, cursor| fields.read_field(key, cursor))?;
    let OllamaRequestFields {
        model,
        stream,
        is_chat,
        generate_fields,
        mut prompt,
        mut rest,
    } = fields;
    if is_chat {
        for (key, raw) in generate_fields.raw {
            match key.as_str() {
                "images" => prompt.unread_images.extend(image::unread(raw)),
                _ => rest.push(key, keep(raw)),
            }
        }
    } else {
        generate::add_prompt(
            &mut prompt,
            &generate_fields.text,
            &generate_fields.system,
            generate_fields.images,
        );
    }
    tool_calls::match_results(&mut prompt.messages);
    prompt.native = rest.into_native(OLLAMA);
    Ok(Incoming {
        model,
        stream: stream.unwrap_or(true),
        stream_usage: true,
        request: Request::from_wire(OLLAMA, body.clone(), prompt).with_spans(read.spans),
    })
}

#[derive(Default)]
struct OllamaRequestFields<'a> {
    model: Option<String>,
    stream: Option<bool>,
    is_chat: bool,
    generate_fields: GenerateFields<'a>,
    prompt: Prompt,
    rest: Rest,
}

/// The fields that replace `messages` in a generate request.
#[derive(Default)]
struct GenerateFields<'a> {
    text: Cow<'a, str>,
    system: Cow<'a, str>,
    images: Vec<Part>,
    /// The same fields as raw JSON, kept if the request is a chat after all.
    raw: Vec<(String, &'a str)>,
}

impl<'a> OllamaRequestFields<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let prompt = &mut self.prompt;
        match key {
            "model" => self.model = cursor.optional(|c| Ok(c.string()?.into_owned()))?,
            "messages" => {
                let read = cursor.optional(|c| {
                    c.array(|cursor| {
                        prompt.messages.push(read_message::read_message(cursor)?);
                        Ok(())
                    })
                })?;
                self.is_chat = read.is_some();
            }
            "prompt" | "system" | "images" => self.generate_fields.read_field(key, cursor)?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?,
            "tools" => {
                cursor.optional(|c| {
                    c.array(|cursor| function_tool::read_function_tool(cursor, prompt, OLLAMA))
                })?;
            }
            "format" => self.read_format(cursor)?,
            "think" => self.read_think(cursor)?,
            "options" => {
                let (prompt, rest) = (&mut self.prompt, &mut self.rest);
                cursor.optional(|c| {
                    c.object(|key, cursor| options::read_option(prompt, rest, key, cursor))
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

    fn read_format(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let kind = cursor.peek()?;
        let raw = cursor.raw()?;
        self.prompt.output = match (kind, raw) {
            (JsonKind::Null, _) | (_, "\"\"") => OutputFormat::Text,
            (_, "\"json\"") => OutputFormat::Json,
            (JsonKind::Object, schema) => OutputFormat::Schema(OutputSchema {
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

    /// Reads `think`: a boolean or a level; `true` is the medium level.
    fn read_think(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
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

impl<'a> GenerateFields<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let ((), raw) = cursor.with_raw(|cursor| {
            match key {
                "prompt" => self.text = cursor.optional(Cursor::string)?.unwrap_or_default(),
                "system" => self.system = cursor.optional(Cursor::string)?.unwrap_or_default(),
                _ => {
                    cursor.optional(|c| {
                        c.array(|cursor| {
                            self.images.push(image::read(cursor)?);
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

/// Whether a value is the default that clients send for an unset field.
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
