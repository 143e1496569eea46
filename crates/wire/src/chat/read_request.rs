//! Reads a client's request.

use bytes::Bytes;
use majordomo_llm::{Json, OutputFormat, OutputSchema, Prompt, Request, ToolChoice};

use super::{CHAT, read_message};
use crate::function_tool;
use crate::json::{self, Cursor, Kind, Read, Rest, keep};
use crate::{Incoming, ReadError, effort};

/// Reads a request and keeps its bytes.
pub(super) fn read(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = Fields::default();
    json::read(&body, |cursor| {
        cursor.object(|key, cursor| fields.read(key, cursor))
    })?;
    let Fields {
        model,
        stream,
        stream_usage,
        mut prompt,
        rest,
    } = fields;
    prompt.native = rest.into_native(CHAT);
    Ok(Incoming {
        model,
        stream,
        stream_usage,
        request: Request::from_wire(CHAT, body, prompt),
    })
}

#[derive(Default)]
struct Fields {
    model: Option<String>,
    stream: bool,
    stream_usage: bool,
    prompt: Prompt,
    rest: Rest,
}

impl Fields {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'_>) -> Read<()> {
        let prompt = &mut self.prompt;
        match key {
            "model" => self.model = cursor.optional(|c| Ok(c.string()?.into_owned()))?,
            "messages" => cursor.array(|cursor| {
                let message = read_message::read(cursor)?;
                prompt.messages.push(message);
                Ok(())
            })?,
            "stream" => self.stream = cursor.optional(Cursor::bool)?.unwrap_or_default(),
            "stream_options" => self.stream_options(cursor)?,
            "tools" => {
                cursor.optional(|c| c.array(|cursor| function_tool::read(cursor, prompt, CHAT)))?;
            }
            "tool_choice" => self.tool_choice(cursor)?,
            "parallel_tool_calls" => prompt.parallel_tool_calls = cursor.optional(Cursor::bool)?,
            "response_format" => self.response_format(cursor)?,
            "max_completion_tokens" => prompt.max_tokens = cursor.optional(Cursor::unsigned)?,
            // The old name counts only where the new one is absent.
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
            "stop" => prompt.stop = stop(cursor)?,
            "reasoning_effort" => self.effort(key, cursor)?,
            "reasoning" => self.reasoning(cursor)?,
            "prompt_cache_key" => {
                prompt.cache_key = cursor.optional(|c| Ok(c.string()?.into_owned()))?
            }
            "user" | "safety_identifier" if prompt.user.is_none() => {
                prompt.user = cursor.optional(|c| Ok(c.string()?.into_owned()))?;
            }
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    fn stream_options(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        if cursor.peek()? != Kind::Object {
            return Ok(());
        }
        let mut understood = true;
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "include_usage" => {
                        self.stream_usage = cursor.optional(Cursor::bool)?.unwrap_or_default();
                    }
                    _ => understood = false,
                }
                Ok(())
            })
        })?;
        if !understood {
            self.rest.push("stream_options", keep(raw));
        }
        Ok(())
    }

    fn tool_choice(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let (choice, raw) = match cursor.peek()? {
            Kind::String => {
                let (word, raw) = cursor.with_raw(Cursor::string)?;
                let choice = match &*word {
                    "auto" => Some(ToolChoice::Auto),
                    "none" => Some(ToolChoice::None),
                    "required" | "any" => Some(ToolChoice::Required),
                    _ => None,
                };
                (choice, raw)
            }
            Kind::Object => cursor.with_raw(named_choice)?,
            _ => (Some(ToolChoice::Auto), cursor.raw()?),
        };
        match choice {
            Some(choice) => self.prompt.tool_choice = choice,
            // A subset of tools, a custom tool: only this dialect can say it.
            None => self.rest.push("tool_choice", keep(raw)),
        }
        Ok(())
    }

    fn response_format(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        if cursor.peek()? == Kind::Null {
            return Ok(());
        }
        let mut kind = None;
        let mut schema = SchemaFields::default();
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "type" => kind = cursor.maybe_string()?,
                    // llama.cpp takes the schema right here.
                    "schema" => schema.schema = Some(keep(cursor.raw()?)),
                    "json_schema" => cursor.object(|key, cursor| schema.read(key, cursor))?,
                    _ => {}
                }
                Ok(())
            })
        })?;
        self.prompt.output = match (kind.as_deref(), schema) {
            (Some("text"), _) => OutputFormat::Text,
            (
                _,
                SchemaFields {
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

    fn effort(&mut self, key: &str, cursor: &mut Cursor<'_>) -> Read<()> {
        if cursor.peek()? == Kind::Null {
            return Ok(());
        }
        let (word, raw) = cursor.with_raw(Cursor::maybe_string)?;
        match word.as_deref().and_then(effort::read) {
            Some(effort) => self.prompt.effort = Some(effort),
            None => self.rest.push(key, keep(raw)),
        }
        Ok(())
    }

    /// OpenRouter's form of effort and budget.
    fn reasoning(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        if cursor.peek()? != Kind::Object {
            return self.rest.take("reasoning", cursor);
        }
        let mut understood = true;
        let prompt = &mut self.prompt;
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "effort" => {
                        let word = cursor.maybe_string()?;
                        let read = word.as_deref().and_then(effort::read);
                        understood &= read.is_some();
                        prompt.effort = read.or(prompt.effort);
                    }
                    "max_tokens" => prompt.reasoning_budget = cursor.count()?,
                    _ => understood = false,
                }
                Ok(())
            })
        })?;
        if !understood {
            self.rest.push("reasoning", keep(raw));
        }
        Ok(())
    }
}

#[derive(Default)]
struct SchemaFields {
    schema: Option<Json>,
    name: Option<String>,
    strict: Option<bool>,
    rest: Vec<(String, Json)>,
}

impl SchemaFields {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'_>) -> Read<()> {
        match key {
            "schema" => self.schema = Some(keep(cursor.raw()?)),
            "name" => self.name = cursor.maybe_string()?.map(Into::into),
            "strict" => self.strict = cursor.optional(Cursor::bool)?,
            _ => self.rest.push((key.to_owned(), keep(cursor.raw()?))),
        }
        Ok(())
    }
}

/// `{"type": "function", "function": {"name": "x"}}`, and nothing for other types.
fn named_choice(cursor: &mut Cursor<'_>) -> Read<Option<ToolChoice>> {
    let mut name = None;
    cursor.object(|key, cursor| match (&**key, cursor.peek()?) {
        ("function", Kind::Object) => cursor.object(|key, cursor| {
            if key == "name" {
                name = Some(cursor.string()?.into_owned());
            }
            Ok(())
        }),
        _ => Ok(()),
    })?;
    Ok(name.map(ToolChoice::Named))
}

fn stop(cursor: &mut Cursor<'_>) -> Read<Vec<String>> {
    let mut stop = Vec::new();
    match cursor.peek()? {
        Kind::String => stop.push(cursor.string()?.into_owned()),
        Kind::Array => cursor.array(|cursor| {
            stop.push(cursor.string()?.into_owned());
            Ok(())
        })?,
        _ => {
            cursor.raw()?;
        }
    }
    Ok(stop)
}
