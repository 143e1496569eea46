//! Reads one item of a conversation or a response.

use std::borrow::Cow;

use majordomo_llm::{Json, Message, Native, Part, Reasoning, Role, Text, ToolCall, ToolResult};

use super::opaque::OPAQUE;
use super::read_part::read_content;
use super::{PARAGRAPH, RESPONSES};
use crate::arguments::{complete_arguments, read_arguments};
use crate::custom_input::wrap_input;
use crate::declared_tool::flat_name;
use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, Rest, keep};

/// The types of a custom tool's items, which also mark the values read from them.
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";
pub(super) const CUSTOM_RESULT: &str = "custom_tool_call_output";

/// Reads an item of a conversation.
pub(super) fn read_message(cursor: &mut Cursor<'_>) -> ReadResult<Message> {
    let mut fields = ResponsesItemFields::default();
    let ((), raw) = cursor
        .with_raw(|cursor| cursor.object(|key, cursor| fields.read_field(key.clone(), cursor)))?;
    let mut message = fields.into_message(raw);
    complete_arguments(&mut message.parts);
    Ok(message)
}

/// Reads an output item of a response.
pub(super) fn read_output_item(cursor: &mut Cursor<'_>) -> ReadResult<Vec<Part>> {
    let mut fields = ResponsesItemFields::default();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.loose_object(|key, cursor| fields.read_field(key.clone(), cursor))
    })?;
    Ok(fields.into_parts(raw))
}

/// Reads an output item of a stream.
pub(super) fn read_output_item_str(raw: &str) -> Result<Vec<Part>, ReadError> {
    json::read_str(raw, read_output_item)
}

/// The fields of an item, in any order. Their meaning depends on the type,
/// which may come last.
#[derive(Default)]
struct ResponsesItemFields<'a> {
    kind: Option<Cow<'a, str>>,
    role: Option<Cow<'a, str>>,
    content: Vec<Part>,
    summary: Vec<Part>,
    output: Vec<Part>,
    call_id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Cow<'a, str>,
    /// The input of a custom tool.
    input: Option<Cow<'a, str>>,
    namespace: Option<Cow<'a, str>>,
    /// Fields that direct the writer.
    directives: Vec<(&'static str, Json)>,
    /// The text of every field except `type` and `role`.
    all: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> ResponsesItemFields<'a> {
    fn read_field(&mut self, key: Cow<'a, str>, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let ((), raw) = cursor.with_raw(|cursor| {
            match (&*key, cursor.peek()?) {
                ("type", _) => self.kind = cursor.optional(Cursor::string)?,
                ("role", _) => self.role = cursor.optional(Cursor::string)?,
                ("content", _) => self.content = read_content(cursor)?,
                ("summary", _) => self.summary = read_content(cursor)?,
                ("output", _) => self.output = read_content(cursor)?,
                ("call_id", JsonKind::String) => self.call_id = Some(cursor.string()?),
                ("name", JsonKind::String) => self.name = Some(cursor.string()?),
                ("input", JsonKind::String) => self.input = Some(cursor.string()?),
                ("namespace", JsonKind::String) => self.namespace = Some(cursor.string()?),
                ("arguments", _) => self.arguments = read_arguments(cursor)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        if !matches!(&*key, "type" | "role") {
            self.all.push((key, raw));
        }
        Ok(())
    }

    fn into_message(mut self, raw: &str) -> Message {
        let kind = self.kind();
        if kind != "message" {
            let role = self.role_of(&kind);
            return Message::new(role, vec![self.into_part(&kind, raw)]);
        }
        let word = self.role.take().unwrap_or_default();
        let (role, plain) = read_role(&word);
        let mut rest = self.rest(&["content"]);
        // Absent, null and empty content are kept distinct for this dialect.
        let mut given = self.all.iter().filter(|(name, _)| name == "content");
        let given = given.next().filter(|(_, raw)| *raw != "\"\"");
        if let (true, Some((_, raw))) = (self.content.is_empty(), given) {
            rest.push("content", keep(raw));
        }
        if !plain {
            rest.push("role", Json::string(&word));
        }
        Message {
            role,
            parts: self.content,
            native: rest.into_native(RESPONSES),
        }
    }

    /// Converts an output item. The fields of a message item are attached to
    /// its last part, since a response has no messages.
    fn into_parts(mut self, raw: &str) -> Vec<Part> {
        let kind = self.kind();
        // Implied by the status of the response.
        self.all
            .retain(|(name, value)| name != "status" || *value != "\"completed\"");
        let from_model = self.role.as_deref().is_none_or(|role| role == "assistant");
        if kind != "message" || !from_model {
            return vec![self.into_part(&kind, raw)];
        }
        let mut parts = std::mem::take(&mut self.content);
        let last = parts.iter_mut().rev().find_map(native_of);
        if let (Some(native), Some(fields)) = (
            last,
            self.rest(&["content"]).into_native(RESPONSES).as_deref(),
        ) {
            let native = native.get_or_insert_with(|| Box::new(Native::new(RESPONSES)));
            for (name, value) in fields.fields() {
                native.push(format!("item.{name}"), value.clone());
            }
        }
        parts
    }

    fn into_part(mut self, kind: &str, raw: &str) -> Part {
        match kind {
            "reasoning" => Part::Reasoning(Reasoning {
                text: match paragraphs(&self.summary) {
                    summary if summary.is_empty() => paragraphs(&self.content),
                    summary => summary,
                },
                native: self.rest(&[]).into_native(RESPONSES),
            }),
            "function_call" => {
                let arguments = std::mem::take(&mut self.arguments).into_owned();
                self.tool_call(&["call_id", "name", "namespace", "arguments"], arguments)
            }
            CUSTOM_CALL if self.input.is_some() => {
                let arguments = wrap_input(&self.input.take().unwrap_or_default());
                self.directives.push(("field", Json::string(CUSTOM_CALL)));
                self.tool_call(&["call_id", "name", "namespace", "input"], arguments)
            }
            "function_call_output" => self.tool_result(),
            CUSTOM_RESULT => {
                self.directives.push(("field", Json::string(CUSTOM_RESULT)));
                self.tool_result()
            }
            kind => OPAQUE.part(kind, raw),
        }
    }

    fn tool_call(&mut self, modelled: &[&str], arguments: String) -> Part {
        let name = self.name.take().unwrap_or_default();
        let namespace = self
            .namespace
            .take()
            .filter(|namespace| !namespace.is_empty());
        if let Some(namespace) = &namespace {
            self.directives.push(("field.name", Json::string(&name)));
            self.directives
                .push(("field.namespace", Json::string(namespace)));
        }
        Part::ToolCall(ToolCall {
            id: self.call_id.take().unwrap_or_default().into_owned(),
            name: flat_name(namespace.as_deref(), &name),
            arguments,
            native: self.rest(modelled).into_native(RESPONSES),
        })
    }

    fn tool_result(&mut self) -> Part {
        Part::ToolResult(ToolResult {
            call_id: self.call_id.take().unwrap_or_default().into_owned(),
            name: None,
            parts: std::mem::take(&mut self.output),
            is_error: false,
            native: self.rest(&["call_id", "output"]).into_native(RESPONSES),
        })
    }

    /// Clients may omit the type of a message and of a reference to a stored item.
    fn kind(&mut self) -> Cow<'a, str> {
        let has_id = || self.all.iter().any(|(name, _)| name == "id");
        match (self.kind.take(), &self.role) {
            (Some(kind), _) => kind,
            (None, Some(_)) => Cow::Borrowed("message"),
            (None, None) if has_id() => Cow::Borrowed("item_reference"),
            (None, None) => Cow::Borrowed("item"),
        }
    }

    /// The role of an item that is not a message.
    fn role_of(&self, kind: &str) -> Role {
        match &self.role {
            Some(word) => read_role(word).0,
            None if kind.ends_with("_output") || kind.ends_with("_response") => Role::Tool,
            None => Role::Assistant,
        }
    }

    /// The unmodelled fields, without those whose null means absence.
    fn rest(&self, modelled: &[&str]) -> Rest {
        let mut rest = Rest::default();
        for (name, value) in &self.all {
            let is_present = *value != "null" || !NULLABLE.contains(&&**name);
            if is_present && !modelled.contains(&&**name) {
                rest.push(name.as_ref(), keep(value));
            }
        }
        for (name, value) in &self.directives {
            rest.push(*name, value.clone());
        }
        rest
    }
}

/// Fields for which null is equivalent to absence.
const NULLABLE: &[&str] = &[
    "id",
    "status",
    "phase",
    "content",
    "encrypted_content",
    "namespace",
    "caller",
];

/// Reads a role, and whether it is the canonical name.
fn read_role(word: &str) -> (Role, bool) {
    match word {
        "user" => (Role::User, true),
        "assistant" => (Role::Assistant, true),
        "system" => (Role::System, true),
        "developer" => (Role::System, false),
        _ => (Role::User, false),
    }
}

fn paragraphs(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Reasoning(Reasoning { text, .. }) | Part::Text(Text { text, .. }) => Some(&**text),
        Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    });
    texts.collect::<Vec<_>>().join(PARAGRAPH)
}

fn native_of(part: &mut Part) -> Option<&mut Option<Box<Native>>> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(&mut text.native),
        Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    }
}
