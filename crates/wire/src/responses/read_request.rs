//! Reads a client's request.

use bytes::Bytes;
use majordomo_llm::{
    Json, Message, Opaque, OutputFormat, OutputSchema, Part, Prompt, Request, Role, Text, Tool,
    ToolChoice,
};

use super::{RESPONSES, read_message};
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};
use crate::splice;
use crate::{Incoming, ReadError, effort};

/// Reads a request and keeps its bytes.
pub(super) fn read_request(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = ResponsesRequestFields::default();
    let spans = splice::read_body(&body, |key, cursor| fields.read_field(key, cursor))?;
    let (model, stream) = (fields.model.take(), fields.stream);
    Ok(Incoming {
        model,
        stream,
        // Every stream includes usage.
        stream_usage: true,
        request: Request::from_wire(RESPONSES, body, fields.into_prompt()).with_spans(spans),
    })
}

#[derive(Default)]
struct ResponsesRequestFields {
    model: Option<String>,
    stream: bool,
    /// The old name of `safety_identifier`.
    user: Option<String>,
    prompt: Prompt,
    rest: Rest,
}

impl ResponsesRequestFields {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let prompt = &mut self.prompt;
        match (key, cursor.peek()?) {
            ("model", _) => self.model = cursor.optional_text()?,
            ("stream", _) => self.stream = cursor.optional(Cursor::bool)?.unwrap_or_default(),
            ("instructions", JsonKind::String) => {
                prompt.system = cursor.optional_text()?.map(Text::new).into_iter().collect();
            }
            ("input", _) => read_input(cursor, prompt)?,
            ("tools", _) => {
                cursor.optional(|c| c.array(|cursor| read_tool(cursor, prompt)))?;
            }
            ("tool_choice", _) => self.read_tool_choice(cursor)?,
            ("parallel_tool_calls", _) => {
                prompt.parallel_tool_calls = cursor.optional(Cursor::bool)?;
            }
            ("text", JsonKind::Object) => self.read_text_setting(cursor)?,
            ("reasoning", JsonKind::Object) => self.read_reasoning(cursor)?,
            ("max_output_tokens", _) => prompt.max_tokens = cursor.optional(Cursor::unsigned)?,
            ("temperature", _) => prompt.temperature = cursor.optional(Cursor::float)?,
            ("top_p", _) => prompt.top_p = cursor.optional(Cursor::float)?,
            ("prompt_cache_key", _) => prompt.cache_key = cursor.optional_text()?,
            ("safety_identifier", _) => prompt.user = cursor.optional_text()?,
            ("user", JsonKind::String) => self.user = cursor.optional_text()?,
            ("instructions" | "text" | "reasoning" | "user", JsonKind::Null) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    fn into_prompt(mut self) -> Prompt {
        match (&self.prompt.user, self.user) {
            (Some(_), Some(user)) => self.rest.push("user", Json::string(&user)),
            (None, user) => self.prompt.user = user,
            (Some(_), None) => {}
        }
        self.prompt.native = self.rest.into_native(RESPONSES);
        self.prompt
    }

    fn read_tool_choice(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let (choice, raw) = match cursor.peek()? {
            JsonKind::String => {
                let (word, raw) = cursor.with_raw(Cursor::string)?;
                let choice = match &*word {
                    "auto" => Some(ToolChoice::Auto),
                    "none" => Some(ToolChoice::None),
                    "required" => Some(ToolChoice::Required),
                    _ => None,
                };
                (choice, raw)
            }
            JsonKind::Object => cursor.with_raw(read_named_choice)?,
            _ => (Some(ToolChoice::Auto), cursor.raw()?),
        };
        match choice {
            Some(choice) => self.prompt.tool_choice = choice,
            // A subset of tools, or a hosted tool: specific to this dialect.
            None => self.rest.push("tool_choice", keep(raw)),
        }
        Ok(())
    }

    fn read_text_setting(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        cursor.object(|key, cursor| match (&**key, cursor.peek()?) {
            ("format", JsonKind::Object) => self.read_format(cursor),
            ("format", JsonKind::Null) => Ok(()),
            _ => self.rest.take(format!("text.{key}"), cursor),
        })
    }

    fn read_format(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let mut kind = None;
        let mut schema = None;
        let (mut name, mut strict) = (None, None);
        let mut rest = Vec::new();
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match (&**key, cursor.peek()?) {
                    ("type", _) => kind = cursor.maybe_string()?,
                    ("schema", JsonKind::Object) => schema = Some(keep(cursor.raw()?)),
                    ("name", JsonKind::String) => name = Some(cursor.string()?.into_owned()),
                    ("strict", JsonKind::Bool | JsonKind::Null) => {
                        strict = cursor.optional(Cursor::bool)?;
                    }
                    _ => rest.push((format!("text.format.{key}"), keep(cursor.raw()?))),
                }
                Ok(())
            })
        })?;
        self.prompt.output = match (kind.as_deref(), schema) {
            (Some("text"), _) => OutputFormat::Text,
            (Some("json_object"), _) => OutputFormat::Json,
            (Some("json_schema"), Some(schema)) => {
                for (name, value) in rest {
                    self.rest.push(name, value);
                }
                OutputFormat::Schema(OutputSchema {
                    schema,
                    name,
                    strict,
                })
            }
            _ => {
                self.rest.push("text.format", keep(raw));
                OutputFormat::Text
            }
        };
        Ok(())
    }

    fn read_reasoning(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        cursor.object(|key, cursor| {
            if key != "effort" {
                return self.rest.take(format!("reasoning.{key}"), cursor);
            }
            let (word, raw) = cursor.with_raw(Cursor::maybe_string)?;
            match word.as_deref().and_then(effort::read_effort) {
                None if raw == "null" => {}
                None => self.rest.push("reasoning.effort", keep(raw)),
                effort => self.prompt.effort = effort,
            }
            Ok(())
        })
    }
}

/// Reads a user text or a list of items.
fn read_input(cursor: &mut Cursor<'_>, prompt: &mut Prompt) -> ReadResult<()> {
    match cursor.peek()? {
        JsonKind::String => {
            let text = cursor.string()?;
            let part = (!text.is_empty()).then(|| Part::text(text));
            let parts = part.into_iter().collect();
            prompt.messages.push(Message::new(Role::User, parts));
            Ok(())
        }
        JsonKind::Null => Ok(()),
        _ => cursor.array(|cursor| {
            let message = read_message::read_message(cursor)?;
            prompt.messages.push(message);
            Ok(())
        }),
    }
}

/// Reads `{"type": "function", "name": "x"}`; `None` for other types.
fn read_named_choice(cursor: &mut Cursor<'_>) -> ReadResult<Option<ToolChoice>> {
    let mut name = None;
    let mut is_function = false;
    cursor.object(|key, cursor| {
        match &**key {
            "type" => is_function = cursor.maybe_string()?.as_deref() == Some("function"),
            "name" => name = cursor.maybe_string()?,
            _ => {}
        }
        Ok(())
    })?;
    let name = name.filter(|_| is_function);
    Ok(name.map(|name| ToolChoice::Named(name.into_owned())))
}

fn read_tool(cursor: &mut Cursor<'_>, prompt: &mut Prompt) -> ReadResult<()> {
    let mut kind = None;
    let mut tool = Tool::new("");
    let mut others = Vec::new();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match (&**key, cursor.peek()?) {
                ("type", JsonKind::String) => kind = Some(cursor.string()?),
                ("name", JsonKind::String) => tool.name = cursor.string()?.into_owned(),
                ("description", JsonKind::String | JsonKind::Null) => {
                    tool.description = cursor.optional_text()?
                }
                ("parameters", JsonKind::Object | JsonKind::Null) => {
                    tool.parameters = cursor.optional(Cursor::raw)?.map(keep);
                }
                ("strict", JsonKind::Bool | JsonKind::Null) => {
                    tool.strict = cursor.optional(Cursor::bool)?;
                }
                _ => others.push((key.clone(), cursor.raw()?)),
            }
            Ok(())
        })
    })?;
    let kind = kind.unwrap_or("function".into());
    if kind == "function" {
        let mut rest = Rest::default();
        for (name, value) in others {
            rest.push(name, keep(value));
        }
        tool.native = rest.into_native(RESPONSES);
        prompt.tools.push(tool);
    } else {
        prompt
            .hosted_tools
            .push(Opaque::new(RESPONSES, kind, keep(raw)));
    }
    Ok(())
}
