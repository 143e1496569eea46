//! Reads a client's request.

use bytes::Bytes;
use majordomo_llm::{
    Json, Message, OutputFormat, OutputSchema, Part, Prompt, Request, Role, Text, Tool, ToolChoice,
};

use super::opaque::OPAQUE;
use super::read_tool::{ToolPlace, read_additional_tools, read_tool};
use super::{RESPONSES, read_message};
use crate::declared_tool::flat_name;
use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};
use crate::loss::ADDITIONAL_TOOLS;
use crate::splice;
use crate::{Incoming, ReadError, effort};

/// Reads a request and keeps its bytes.
pub(super) fn read_request(body: Bytes) -> Result<Incoming, ReadError> {
    let mut fields = ResponsesRequestFields::default();
    let read = splice::read_body(&body, |key, cursor| fields.read_field(key, cursor))?;
    let (model, stream) = (fields.model.take(), fields.stream);
    let mut prompt = fields.into_prompt();
    OPAQUE.declare_unread(&mut prompt, &body, &read.skipped);
    Ok(Incoming {
        model,
        stream,
        // Every stream includes usage.
        stream_usage: true,
        request: Request::from_wire(RESPONSES, body, prompt).with_spans(read.spans),
    })
}

#[derive(Default)]
struct ResponsesRequestFields {
    model: Option<String>,
    stream: bool,
    /// The old name of `safety_identifier`.
    user: Option<String>,
    prompt: Prompt,
    /// The tools that items of the conversation declare.
    additional: Prompt,
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
            ("input", _) => self.read_input(cursor)?,
            ("tools", _) => {
                let mut place = ToolPlace::default();
                cursor.optional(|c| c.array(|cursor| read_tool(cursor, &mut place, prompt)))?;
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

    /// Reads the conversation: a text, or items.
    fn read_input(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let (prompt, additional) = (&mut self.prompt, &mut self.additional);
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
                let mut item = cursor.fork();
                let message = read_message::read_message(cursor)?;
                if declares_tools(&message) {
                    read_additional_tools(&mut item, additional)?;
                }
                prompt.messages.push(message);
                Ok(())
            }),
        }
    }

    /// Adds the tools that the conversation declares. A later declaration of the same name
    /// replaces an earlier one, but not one in `tools`.
    fn add_additional_tools(&mut self) {
        let declared = self.prompt.tools.len();
        for tool in self.additional.tools.drain(..) {
            let same = |known: &Tool| known.name == tool.name;
            match self.prompt.tools.iter().position(same) {
                Some(at) if at < declared => {}
                Some(at) => self.prompt.tools[at] = tool,
                None => self.prompt.tools.push(tool),
            }
        }
        let hosted = &mut self.additional.hosted_tools;
        self.prompt.hosted_tools.append(hosted);
    }

    fn into_prompt(mut self) -> Prompt {
        self.add_additional_tools();
        match (&self.prompt.user, self.user) {
            (Some(_), Some(user)) => self.rest.push("user", Json::string(&user)),
            (None, user) => self.prompt.user = user,
            (Some(_), None) => {}
        }
        self.prompt.native = self.rest.into_native(RESPONSES);
        OPAQUE.declare(&mut self.prompt);
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
            _ => {
                cursor.skip()?;
                (Some(ToolChoice::Auto), "")
            }
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

/// Whether a message holds only the item that declares additional tools.
fn declares_tools(message: &Message) -> bool {
    matches!(&message.parts[..], [Part::Opaque(block)] if block.kind == ADDITIONAL_TOOLS)
}

/// Reads `{"type": "function", "name": "x"}`, or `custom`; `None` for other types.
fn read_named_choice(cursor: &mut Cursor<'_>) -> ReadResult<Option<ToolChoice>> {
    let (mut kind, mut name, mut namespace) = (None, None, None);
    cursor.object(|key, cursor| {
        match &**key {
            "type" => kind = cursor.maybe_string()?,
            "name" => name = cursor.maybe_string()?,
            "namespace" => namespace = cursor.maybe_string()?,
            _ => {}
        }
        Ok(())
    })?;
    let is_own = matches!(kind.as_deref(), Some("function" | "custom"));
    let name = name.filter(|_| is_own);
    Ok(name.map(|name| ToolChoice::Named(flat_name(namespace.as_deref(), &name))))
}
