//! Reads one item: of a conversation, or of an answer.

use std::borrow::Cow;

use majordomo_llm::{
    Json, Message, Native, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult,
};

use super::read_part::content;
use super::{PARAGRAPH, RESPONSES};
use crate::json::{self, Cursor, Kind, Read, ReadError, Rest, keep};

/// Reads an item of a conversation.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Read<Message> {
    let mut fields = ItemFields::default();
    let ((), raw) =
        cursor.with_raw(|cursor| cursor.object(|key, cursor| fields.read(key.clone(), cursor)))?;
    Ok(fields.into_message(raw))
}

/// Reads an item of an answer.
pub(super) fn read_said(cursor: &mut Cursor<'_>) -> Read<Vec<Part>> {
    let mut fields = ItemFields::default();
    let ((), raw) = cursor
        .with_raw(|cursor| cursor.loose_object(|key, cursor| fields.read(key.clone(), cursor)))?;
    Ok(fields.into_parts(raw))
}

/// Reads an item of a stream whose text is known to be JSON.
pub(super) fn read_said_text(raw: &str) -> Result<Vec<Part>, ReadError> {
    json::read_str(raw, read_said)
}

/// The fields of an item, in whatever order they came. What a field means
/// depends on the type, which may come last.
#[derive(Default)]
struct ItemFields<'a> {
    kind: Option<Cow<'a, str>>,
    role: Option<Cow<'a, str>>,
    content: Vec<Part>,
    summary: Vec<Part>,
    output: Vec<Part>,
    call_id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Cow<'a, str>,
    /// Every field but `type` and `role`, as it stands in the text.
    all: Vec<(Cow<'a, str>, &'a str)>,
}

impl<'a> ItemFields<'a> {
    fn read(&mut self, key: Cow<'a, str>, cursor: &mut Cursor<'a>) -> Read<()> {
        let ((), raw) = cursor.with_raw(|cursor| {
            match (&*key, cursor.peek()?) {
                ("type", _) => self.kind = cursor.optional(Cursor::string)?,
                ("role", _) => self.role = cursor.optional(Cursor::string)?,
                ("content", _) => self.content = content(cursor)?,
                ("summary", _) => self.summary = content(cursor)?,
                ("output", _) => self.output = content(cursor)?,
                ("call_id", Kind::String) => self.call_id = Some(cursor.string()?),
                ("name", Kind::String) => self.name = Some(cursor.string()?),
                ("arguments", Kind::String) => self.arguments = cursor.string()?,
                ("arguments", Kind::Null) => cursor.raw().map(drop)?,
                // Some servers send the object itself.
                ("arguments", _) => self.arguments = Cow::Borrowed(cursor.raw()?),
                _ => cursor.raw().map(drop)?,
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
        let (role, plain) = role(&word);
        let mut rest = self.rest(&["content"]);
        if !plain {
            rest.push("role", Json::string(&word));
        }
        Message {
            role,
            parts: self.content,
            native: rest.into_native(RESPONSES),
        }
    }

    /// What an item of an answer says. The fields of a message item go with its
    /// last part, since an answer has no messages.
    fn into_parts(mut self, raw: &str) -> Vec<Part> {
        let kind = self.kind();
        // It is complete because the answer is.
        self.all
            .retain(|(name, value)| name != "status" || *value != "\"completed\"");
        let said = self.role.as_deref().is_none_or(|role| role == "assistant");
        if kind != "message" || !said {
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
            "function_call" => Part::ToolCall(ToolCall {
                id: self.call_id.take().unwrap_or_default().into_owned(),
                name: self.name.take().unwrap_or_default().into_owned(),
                arguments: std::mem::take(&mut self.arguments).into_owned(),
                native: self
                    .rest(&["call_id", "name", "arguments"])
                    .into_native(RESPONSES),
            }),
            "function_call_output" => Part::ToolResult(ToolResult {
                call_id: self.call_id.take().unwrap_or_default().into_owned(),
                name: None,
                parts: std::mem::take(&mut self.output),
                is_error: false,
                native: self.rest(&["call_id", "output"]).into_native(RESPONSES),
            }),
            kind => Part::Opaque(Opaque {
                origin: RESPONSES,
                kind: kind.to_owned(),
                raw: keep(raw),
            }),
        }
    }

    /// Clients may leave the type of a message out.
    fn kind(&mut self) -> Cow<'a, str> {
        match (self.kind.take(), &self.role) {
            (Some(kind), _) => kind,
            (None, Some(_)) => Cow::Borrowed("message"),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Who an item that is no message comes from.
    fn role_of(&self, kind: &str) -> Role {
        match &self.role {
            Some(word) => role(word).0,
            None if kind.ends_with("_output") || kind.ends_with("_response") => Role::Tool,
            None => Role::Assistant,
        }
    }

    /// The fields that are not modelled. What is null was not said.
    fn rest(&self, modelled: &[&str]) -> Rest {
        let mut rest = Rest::default();
        for (name, value) in &self.all {
            let said = *value != "null" || !NULLABLE.contains(&&**name);
            if said && !modelled.contains(&&**name) {
                rest.push(name.as_ref(), keep(value));
            }
        }
        rest
    }
}

/// Fields whose null means the same as their absence.
const NULLABLE: &[&str] = &[
    "id",
    "status",
    "phase",
    "content",
    "encrypted_content",
    "namespace",
    "caller",
];

/// The role of a word, and whether the word is the role's own.
fn role(word: &str) -> (Role, bool) {
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
        _ => None,
    });
    texts.collect::<Vec<_>>().join(PARAGRAPH)
}

fn native_of(part: &mut Part) -> Option<&mut Option<Box<Native>>> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(&mut text.native),
        _ => None,
    }
}
