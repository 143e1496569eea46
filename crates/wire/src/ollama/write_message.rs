//! Writes messages.
//!
//! All instructions become the first message, since many templates know one
//! only; a tool's pictures stay with its answer.

use bytes::BytesMut;
use majordomo_llm::{Message, Native, Part, Role, Text, ToolResult};

use super::tool_calls::{self, is_result};
use super::write_part::{Content, write_native};
use super::{OLLAMA, THINKING};
use crate::conversation::{CallIds, ToolNames};
use crate::json::{Array, Object, write_array, write_string};
use crate::loss::Losses;
use crate::splice::{self, FieldAction, Rewrite};

/// Between texts that were separate.
const BLANK_LINE: &str = "\n\n";

/// Writes the elements of `messages`, in order.
pub(super) struct MessageWriter<'w, 'a, 'l, 'm> {
    array: &'w mut Array<'a>,
    losses: &'l mut Losses,
    ids: CallIds,
    names: ToolNames<'m>,
}

impl<'w, 'a, 'l, 'm> MessageWriter<'w, 'a, 'l, 'm> {
    pub(super) fn new(
        array: &'w mut Array<'a>,
        losses: &'l mut Losses,
        messages: &'m [Message],
    ) -> Self {
        Self {
            array,
            losses,
            ids: CallIds::new(|c| c.is_ascii_graphic()),
            names: ToolNames::of(messages),
        }
    }

    /// Writes the first message: the texts and, where they are given, the
    /// instructions among the messages and one more in words.
    pub(super) fn instructions<'i>(
        &mut self,
        system: &[Text],
        messages: impl IntoIterator<Item = &'i Message>,
        in_words: Option<&str>,
    ) {
        let messages: Vec<&Message> = messages.into_iter().collect();
        let own: Vec<Part> = system.iter().cloned().map(Part::Text).collect();
        let parts = own
            .iter()
            .chain(messages.iter().flat_map(|message| &message.parts));
        let mut content = Content::of(parts, BLANK_LINE, self.losses);
        if let Some(words) = in_words {
            if !content.text.is_empty() {
                content.text.push_str(BLANK_LINE);
            }
            content.text.push_str(words);
        }
        let first = messages
            .first()
            .and_then(|message| message.native.as_deref());
        let native = self.losses.own(first, &OLLAMA);
        for message in messages.iter().skip(1) {
            for (name, _) in message.native.iter().flat_map(|native| native.fields()) {
                self.losses.add(name, "only one message holds instructions");
            }
        }
        if own.is_empty() && messages.is_empty() && in_words.is_none() {
            return;
        }
        self.plain(native, "system", &content);
    }

    /// Writes a message as the bytes that it was read from.
    pub(super) fn keep(&mut self, message: &Message, raw: &str) {
        for call in message.tool_calls() {
            self.ids.keep(&call.id, call.id.clone());
        }
        self.array.raw(raw);
    }

    /// Writes a message; one with several results becomes several.
    pub(super) fn write(&mut self, message: &Message) {
        let native = self.losses.own(message.native.as_deref(), &OLLAMA);
        for result in message.tool_results() {
            self.tool_result(native, result);
        }
        let rest: Vec<&Part> = message
            .parts
            .iter()
            .filter(|part| !matches!(part, Part::ToolResult(_)))
            .collect();
        if rest.is_empty() && is_result(message) {
            return;
        }
        match message.role {
            Role::Assistant => {
                let (losses, ids) = (&mut *self.losses, &mut self.ids);
                self.array.object(|o| {
                    write_role(o, native, "assistant");
                    write_answer(o, &rest, Reader::Model, ids, losses);
                    write_native(o, native);
                });
            }
            role => {
                let word = if role == Role::System {
                    "system"
                } else {
                    "user"
                };
                let content = Content::of(rest, BLANK_LINE, self.losses);
                self.plain(native, word, &content);
            }
        }
    }

    /// Writes a message of which only text and pictures changed, with the bytes
    /// of its other fields.
    pub(super) fn splice(&mut self, old: &Message, new: &Message, raw: &str) {
        let mut before = Content::of(said(old), BLANK_LINE, &mut Losses::default());
        let mut after = Content::of(said(new), BLANK_LINE, self.losses);
        mark_error(old, &mut before, &mut Losses::default());
        mark_error(new, &mut after, self.losses);
        let mut rewrite = ContentRewrite {
            before,
            after,
            has_text: false,
            has_pictures: false,
        };
        splice::object(raw, self.array.value(), &mut rewrite);
    }

    fn plain(&mut self, native: Option<&Native>, role: &str, content: &Content<'_>) {
        self.array.object(|o| {
            write_role(o, native, role);
            o.string("content", &content.text);
            content.write_pictures(o);
            write_native(o, native);
        });
    }

    fn tool_result(&mut self, native: Option<&Native>, result: &ToolResult) {
        self.losses.own(result.native.as_deref(), &OLLAMA);
        let id = self.ids.result(&result.call_id);
        let name = result.name.as_deref();
        let name = name.or_else(|| self.names.get(&result.call_id));
        let mut content = Content::of(&result.parts, BLANK_LINE, self.losses);
        if result.is_error {
            prefix_error(&mut content, self.losses);
        }
        self.array.object(|o| {
            write_role(o, native, "tool");
            o.string("content", &content.text);
            content.write_pictures(o);
            if let Some(name) = name {
                o.string("tool_name", name);
            }
            if !id.is_empty() {
                o.string("tool_call_id", &id);
            }
            write_native(o, native);
        });
    }
}

fn prefix_error(content: &mut Content<'_>, losses: &mut Losses) {
    losses.add("is_error", "written as the prefix `ERROR: `");
    content.text.insert_str(0, "ERROR: ");
}

fn mark_error(message: &Message, content: &mut Content<'_>, losses: &mut Losses) {
    if message.tool_results().any(|result| result.is_error) {
        prefix_error(content, losses);
    }
}

/// The parts that become content: the message's own, or those of its result.
fn said(message: &Message) -> impl Iterator<Item = &Part> {
    message.parts.iter().flat_map(|part| match part {
        Part::ToolResult(result) => result.parts.as_slice(),
        part => std::slice::from_ref(part),
    })
}

/// Whether only text and pictures tell these two apart.
pub(super) fn same_but_for_content(old: &Message, new: &Message) -> bool {
    let frame = |message: &Message| match message.parts.as_slice() {
        [Part::ToolResult(result)] => Some((result.call_id.clone(), result.name.clone())),
        _ => None,
    };
    let one = |message: &Message| match message.role {
        Role::User | Role::System => message.tool_results().next().is_none(),
        Role::Tool => frame(message).is_some(),
        Role::Assistant => false,
    };
    old.role == new.role
        && old.native == new.native
        && one(old)
        && one(new)
        && frame(old) == frame(new)
}

/// Replaces what was said inside a message's own bytes.
struct ContentRewrite<'p> {
    before: Content<'p>,
    after: Content<'p>,
    has_text: bool,
    has_pictures: bool,
}

impl Rewrite for ContentRewrite<'_> {
    fn field(&mut self, key: &str, _: &str, out: &mut BytesMut) -> FieldAction {
        match key {
            "content" => {
                self.has_text = true;
                if self.after.text == self.before.text {
                    return FieldAction::Keep;
                }
                write_string(out, &self.after.text);
                FieldAction::Replace
            }
            "images" => {
                self.has_pictures = true;
                if self.after.pictures == self.before.pictures {
                    return FieldAction::Keep;
                }
                if self.after.pictures.is_empty() {
                    return FieldAction::Remove;
                }
                write_array(out, |array| {
                    for picture in &self.after.pictures {
                        super::image::write(picture, array);
                    }
                });
                FieldAction::Replace
            }
            _ => FieldAction::Keep,
        }
    }

    fn end(&mut self, object: &mut Object<'_>) {
        if !self.has_text {
            object.string("content", &self.after.text);
        }
        if !self.has_pictures {
            self.after.write_pictures(object);
        }
    }
}

/// Who reads what the model said.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reader {
    /// A model, which gets back only what it thought itself.
    Model,
    /// A client, which sees reasoning of every origin and the order of calls.
    Client,
}

/// What the model said: the same fields in a history and in an answer.
pub(super) fn write_answer(
    object: &mut Object<'_>,
    parts: &[&Part],
    reader: Reader,
    ids: &mut CallIds,
    losses: &mut Losses,
) {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    let mut thinking = String::new();
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => {
                let own = losses.own(reasoning.native.as_deref(), &OLLAMA).is_some();
                match own || reader == Reader::Client {
                    true => thinking.push_str(&reasoning.text),
                    false => losses.add("reasoning", "only the model that produced it can read it"),
                }
            }
            Part::ToolCall(_) => calls.push(*part),
            Part::Opaque(block) if block.origin == OLLAMA && block.kind == "tool_calls" => {
                calls.push(*part);
            }
            part => content.push(*part),
        }
    }
    let content = Content::of(content, "", losses);
    object.string("content", &content.text);
    if !thinking.is_empty() {
        object.string(THINKING, &thinking);
    }
    content.write_pictures(object);
    if calls.is_empty() {
        return;
    }
    object.array("tool_calls", |array| {
        for (place, part) in calls.into_iter().enumerate() {
            match part {
                Part::ToolCall(call) => {
                    let place = (reader == Reader::Client).then_some(place);
                    tool_calls::write(call, &ids.call(&call.id), place, array, losses);
                }
                Part::Opaque(block) => array.raw(block.raw.as_str()),
                _ => {}
            }
        }
    });
}

fn write_role(object: &mut Object<'_>, native: Option<&Native>, default: &str) {
    match native.and_then(|native| native.get("role")) {
        Some(role) => object.raw("role", role.as_str()),
        None => object.string("role", default),
    }
}
