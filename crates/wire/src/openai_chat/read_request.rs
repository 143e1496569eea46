//! Reads a client's request body.

use bytes::Bytes;
use majordomo_llm::{Json, OutputFormat, OutputSchema, Prompt, Request, ToolChoice};

use super::opaque::OPAQUE;
use super::{CHAT, read_message};
use crate::function_tool;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};
use crate::splice;
use crate::{Incoming, ReadError, effort};

/// Reads a request and keeps its bytes for splicing.
pub(super) fn read_request(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = ChatRequestFields::default();
    let read = splice::read_body(&body, |key, cursor| fields.read_field(key, cursor))?;
    let ChatRequestFields {
        model,
        stream,
        stream_usage,
        mut prompt,
        rest,
    } = fields;
    prompt.native = rest.into_native(CHAT);
    OPAQUE.declare(&mut prompt);
    OPAQUE.declare_unread(&mut prompt, &body, &read.skipped);
    Ok(Incoming {
        model,
        stream,
        stream_usage,
        request: Request::from_wire(CHAT, body, prompt).with_spans(read.spans),
    })
}

#[derive(Default)]
pub(super) struct ChatRequestFields {
    pub(super) model: Option<String>,
    pub(super) stream: bool,
    pub(super) stream_usage: bool,
    pub(super) prompt: Prompt,
    pub(super) rest: Rest,
}

impl ChatRequestFields {
    pub(super) fn read_field(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let prompt = &mut self.prompt;
        match key {
            "model" => self.model = cursor.optional(|c| Ok(c.string()?.into_owned()))?,
            "messages" => cursor.optional_array(|cursor| {
                let message = read_message::read_message(cursor)?;
                prompt.messages.push(message);
                Ok(())
            })?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?.unwrap_or_default(),
            "stream_options" => self.read_stream_options(cursor)?,
            "tools" => {
                cursor.optional(|c| {
                    c.array(|cursor| function_tool::read_function_tool(cursor, prompt, CHAT))
                })?;
            }
            "tool_choice" => self.read_tool_choice(cursor)?,
            "parallel_tool_calls" => prompt.parallel_tool_calls = cursor.optional(Cursor::bool)?,
            "response_format" => self.read_response_format(cursor)?,
            "max_completion_tokens" => prompt.max_tokens = cursor.optional(Cursor::unsigned)?,
            // The deprecated name applies only without the new one.
            "max_tokens" => {
                let tokens = cursor.optional(Cursor::unsigned)?;
                prompt.max_tokens = prompt.max_tokens.or(tokens);
            }
            "temperature" => prompt.temperature = cursor.optional(Cursor::float)?,
            "top_p" => prompt.top_p = cursor.optional(Cursor::float)?,
            "top_k" => {
                prompt.top_k = cursor
                    .optional(Cursor::signed)?
                    .and_then(|k| k.try_into().ok())
            }
            "presence_penalty" => prompt.presence_penalty = cursor.optional(Cursor::float)?,
            "frequency_penalty" => prompt.frequency_penalty = cursor.optional(Cursor::float)?,
            "seed" => prompt.seed = cursor.optional(Cursor::signed)?,
            "stop" => prompt.stop = read_stop(cursor)?,
            "reasoning_effort" => self.read_effort(key, cursor)?,
            "reasoning" => self.read_reasoning(cursor)?,
            "prompt_cache_key" => prompt.cache_key = cursor.optional_text()?,
            "user" | "safety_identifier" if prompt.user.is_none() => {
                prompt.user = cursor.optional_text()?;
            }
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    fn read_stream_options(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        let mut modelled = true;
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "include_usage" => {
                        self.stream_usage = cursor.optional(Cursor::bool)?.unwrap_or_default();
                    }
                    _ => modelled = false,
                }
                Ok(())
            })
        })?;
        if !modelled {
            self.rest.push("stream_options", keep(raw));
        }
        Ok(())
    }

    fn read_tool_choice(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let (choice, raw) = match cursor.peek()? {
            JsonKind::String => {
                let (name, raw) = cursor.with_raw(Cursor::string)?;
                let choice = match &*name {
                    "auto" => Some(ToolChoice::Auto),
                    "none" => Some(ToolChoice::None),
                    "required" | "any" => Some(ToolChoice::Required),
                    _ => None,
                };
                (choice, raw)
            }
            JsonKind::Object => cursor.with_raw(read_named_tool_choice)?,
            _ => {
                cursor.skip()?;
                (Some(ToolChoice::Auto), "")
            }
        };
        match choice {
            Some(choice) => self.prompt.tool_choice = choice,
            // `allowed_tools` or a custom tool, which no other dialect can express.
            None => self.rest.push("tool_choice", keep(raw)),
        }
        Ok(())
    }

    fn read_response_format(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        if cursor.peek()? == JsonKind::Null {
            return Ok(());
        }
        let mut kind = None;
        let mut schema = ChatSchemaFields::default();
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "type" => kind = cursor.maybe_string()?,
                    // llama.cpp expects the schema at this level.
                    "schema" => schema.schema = cursor.optional(Cursor::raw)?.map(keep),
                    "json_schema" => {
                        cursor.optional(|cursor| {
                            cursor.object(|key, cursor| schema.read_field(key, cursor))
                        })?;
                    }
                    _ => {}
                }
                Ok(())
            })
        })?;
        self.prompt.output = match (kind.as_deref(), schema) {
            (Some("text"), _) => OutputFormat::Text,
            (
                _,
                ChatSchemaFields {
                    schema: Some(json),
                    name,
                    strict,
                    rest,
                },
            ) => {
                for (name, value) in rest {
                    self.rest
                        .push(format!("response_format.json_schema.{name}"), value);
                }
                OutputFormat::Schema(OutputSchema {
                    schema: json,
                    name,
                    strict,
                })
            }
            (Some("json_object"), _) => OutputFormat::Json,
            _ => {
                self.rest.push("response_format", keep(raw));
                OutputFormat::Text
            }
        };
        Ok(())
    }

    fn read_effort(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        if cursor.peek()? == JsonKind::Null {
            return Ok(());
        }
        let (level, raw) = cursor.with_raw(Cursor::maybe_string)?;
        match level.as_deref().and_then(effort::read_effort) {
            Some(effort) => self.prompt.effort = Some(effort),
            None => self.rest.push(key, keep(raw)),
        }
        Ok(())
    }

    /// Reads OpenRouter's `reasoning`, which holds the effort or the budget.
    fn read_reasoning(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            return self.rest.take("reasoning", cursor);
        }
        let mut modelled = true;
        let prompt = &mut self.prompt;
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "effort" => {
                        let level = cursor.maybe_string()?;
                        let effort = level.as_deref().and_then(effort::read_effort);
                        modelled &= effort.is_some();
                        prompt.effort = effort.or(prompt.effort);
                    }
                    "max_tokens" => prompt.reasoning_budget = cursor.count()?,
                    _ => modelled = false,
                }
                Ok(())
            })
        })?;
        if !modelled {
            self.rest.push("reasoning", keep(raw));
        }
        Ok(())
    }
}

#[derive(Default)]
struct ChatSchemaFields {
    schema: Option<Json>,
    name: Option<String>,
    strict: Option<bool>,
    rest: Vec<(String, Json)>,
}

impl ChatSchemaFields {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        match key {
            "schema" => self.schema = cursor.optional(Cursor::raw)?.map(keep),
            "name" => self.name = cursor.maybe_string()?.map(Into::into),
            "strict" => self.strict = cursor.optional(Cursor::bool)?,
            _ => self.rest.push((key.to_owned(), keep(cursor.raw()?))),
        }
        Ok(())
    }
}

/// Reads `{"type": "function", "function": {"name": "x"}}`; none for other types.
fn read_named_tool_choice(cursor: &mut Cursor<'_>) -> ReadResult<Option<ToolChoice>> {
    let mut name = None;
    cursor.object(|key, cursor| match (&**key, cursor.peek()?) {
        ("function", JsonKind::Object) => cursor.object(|key, cursor| {
            if key == "name" {
                name = Some(cursor.string()?.into_owned());
            }
            Ok(())
        }),
        _ => Ok(()),
    })?;
    Ok(name.map(ToolChoice::Named))
}

fn read_stop(cursor: &mut Cursor<'_>) -> ReadResult<Vec<String>> {
    let mut stop = Vec::new();
    match cursor.peek()? {
        JsonKind::String => stop.push(cursor.string()?.into_owned()),
        JsonKind::Array => cursor.array(|cursor| {
            stop.push(cursor.string()?.into_owned());
            Ok(())
        })?,
        _ => cursor.skip()?,
    }
    Ok(stop)
}
