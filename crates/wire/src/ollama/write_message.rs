//! Writes `messages`.
//!
//! All instructions become the first message, since many templates support only
//! one; the images of a tool result stay in its message.

use bytes::BytesMut;
use majordomo_llm::{Message, Native, Part, Role, Text, ToolResult};

use super::tool_calls::{self, is_result};
use super::write_part::{OllamaContent, write_native};
use super::{OLLAMA, THINKING_KEY};
use crate::conversation::{CallIds, ToolNames};
use crate::json::{Array, Object, write_array, write_string};
use crate::loss::{LossVerb, Losses};
use crate::splice::{self, FieldAction, Rewrite};

/// Separates texts that were separate parts.
const SEPARATOR: &str = "\n\n";

/// Writes the elements of `messages`, in order.
pub(super) struct OllamaMessageWriter<'w, 'a, 'l, 'm> {
    array: &'w mut Array<'a>,
    losses: &'l mut Losses,
    ids: CallIds,
    names: ToolNames<'m>,
}

impl<'w, 'a, 'l, 'm> OllamaMessageWriter<'w, 'a, 'l, 'm> {
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

    /// Writes the first message: the instructions, the given system messages and the
    /// schema instruction, if any.
    pub(super) fn instructions<'i>(
        &mut self,
        system: &[Text],
        messages: impl IntoIterator<Item = &'i Message>,
        schema_instruction: Option<&str>,
    ) {
        let messages: Vec<&Message> = messages.into_iter().collect();
        let own: Vec<Part> = system.iter().cloned().map(Part::Text).collect();
        let parts = own
            .iter()
            .chain(messages.iter().flat_map(|message| &message.parts));
        let mut content = OllamaContent::collect(parts, SEPARATOR, self.losses);
        if let Some(instruction) = schema_instruction {
            if !content.text.is_empty() {
                content.text.push_str(SEPARATOR);
            }
            content.text.push_str(instruction);
        }
        let first = messages
            .first()
            .and_then(|message| message.native.as_deref());
        let native = self.losses.own(first, &OLLAMA);
        for message in messages.iter().skip(1) {
            for (name, _) in message.native.iter().flat_map(|native| native.fields()) {
                self.losses
                    .add(name, "only one message can hold instructions");
            }
        }
        // A message that consists only of foreign blocks, such as tool declarations, is
        // omitted.
        let only_blocks = |message: &&Message| {
            let mut parts = message.parts.iter();
            !message.parts.is_empty() && parts.all(|part| matches!(part, Part::Opaque(_)))
        };
        if own.is_empty() && messages.iter().all(only_blocks) && schema_instruction.is_none() {
            return;
        }
        self.plain_message(native, "system", &content);
    }

    /// Writes a message as the bytes it was read from.
    pub(super) fn keep(&mut self, message: &Message, raw: &str) {
        for call in message.tool_calls() {
            self.ids.keep(&call.id, call.id.clone());
        }
        self.array.raw(raw);
    }

    /// Writes a message; each tool result becomes a message.
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
                    write_assistant_fields(o, &rest, Audience::Model, ids, losses);
                    write_native(o, native);
                });
            }
            role => {
                let role_name = if role == Role::System {
                    "system"
                } else {
                    "user"
                };
                let content = OllamaContent::collect(rest, SEPARATOR, self.losses);
                self.plain_message(native, role_name, &content);
            }
        }
    }

    /// Writes a message whose text or images changed, splicing into its bytes.
    pub(super) fn splice(&mut self, old: &Message, new: &Message, raw: &str) {
        let mut before =
            OllamaContent::collect(content_parts(old), SEPARATOR, &mut Losses::default());
        let mut after = OllamaContent::collect(content_parts(new), SEPARATOR, self.losses);
        mark_error(old, &mut before, &mut Losses::default());
        mark_error(new, &mut after, self.losses);
        let mut rewrite = OllamaContentRewrite {
            before,
            after,
            has_text: false,
            has_images: false,
        };
        splice::object(raw, self.array.value(), &mut rewrite);
    }

    fn plain_message(&mut self, native: Option<&Native>, role: &str, content: &OllamaContent<'_>) {
        self.array.object(|o| {
            write_role(o, native, role);
            o.string("content", &content.text);
            content.write_images(o);
            write_native(o, native);
        });
    }

    fn tool_result(&mut self, native: Option<&Native>, result: &ToolResult) {
        self.losses.own(result.native.as_deref(), &OLLAMA);
        let id = self.ids.result(&result.call_id);
        let name = result.name.as_deref();
        let name = name.or_else(|| self.names.get(&result.call_id));
        let mut content = OllamaContent::collect(&result.parts, SEPARATOR, self.losses);
        if result.is_error {
            prefix_error(&mut content, self.losses);
        }
        self.array.object(|o| {
            write_role(o, native, "tool");
            o.string("content", &content.text);
            content.write_images(o);
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

fn prefix_error(content: &mut OllamaContent<'_>, losses: &mut Losses) {
    losses.record(
        LossVerb::Prefixed,
        "is_error",
        "written as the prefix `ERROR: `",
    );
    content.text.insert_str(0, "ERROR: ");
}

fn mark_error(message: &Message, content: &mut OllamaContent<'_>, losses: &mut Losses) {
    if message.tool_results().any(|result| result.is_error) {
        prefix_error(content, losses);
    }
}

/// Returns the parts that become content: the message's own, or those of its tool
/// result.
fn content_parts(message: &Message) -> impl Iterator<Item = &Part> {
    message.parts.iter().flat_map(|part| match part {
        Part::ToolResult(result) => result.parts.as_slice(),
        part @ (Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::File(_)
        | Part::Opaque(_)) => std::slice::from_ref(part),
    })
}

/// Whether two messages differ at most in text and images.
pub(super) fn differs_only_in_content(old: &Message, new: &Message) -> bool {
    let result_key = |message: &Message| match message.parts.as_slice() {
        [Part::ToolResult(result)] => Some((result.call_id.clone(), result.name.clone())),
        _ => None,
    };
    let can_splice = |message: &Message| match message.role {
        Role::User | Role::System => message.tool_results().next().is_none(),
        Role::Tool => result_key(message).is_some(),
        Role::Assistant => false,
    };
    old.role == new.role
        && old.native == new.native
        && can_splice(old)
        && can_splice(new)
        && result_key(old) == result_key(new)
}

/// Replaces `content` and `images` in the bytes of a message.
struct OllamaContentRewrite<'p> {
    before: OllamaContent<'p>,
    after: OllamaContent<'p>,
    has_text: bool,
    has_images: bool,
}

impl Rewrite for OllamaContentRewrite<'_> {
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
                self.has_images = true;
                if self.after.images == self.before.images {
                    return FieldAction::Keep;
                }
                if self.after.images.is_empty() {
                    return FieldAction::Remove;
                }
                write_array(out, |array| {
                    for image in &self.after.images {
                        super::image::write(image, array);
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
        if !self.has_images {
            self.after.write_images(object);
        }
    }
}

/// The reader of an assistant message.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Audience {
    /// A model, which gets back only its own reasoning.
    Model,
    /// A client, which sees reasoning from any dialect and the indexes of calls.
    Client,
}

/// Writes the fields of an assistant message, which a request and a response
/// share.
pub(super) fn write_assistant_fields(
    object: &mut Object<'_>,
    parts: &[&Part],
    audience: Audience,
    ids: &mut CallIds,
    losses: &mut Losses,
) {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    let mut thinking = String::new();
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => {
                let own = losses.own(reasoning.native.as_deref(), &OLLAMA).is_some();
                match own || audience == Audience::Client {
                    true => thinking.push_str(&reasoning.text),
                    false => losses.add("reasoning", "only the model that produced it can read it"),
                }
            }
            Part::ToolCall(_) => calls.push(*part),
            Part::Opaque(block) if block.origin == OLLAMA && block.kind == "tool_calls" => {
                calls.push(*part);
            }
            part @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => content.push(*part),
        }
    }
    let content = OllamaContent::collect(content, "", losses);
    object.string("content", &content.text);
    if !thinking.is_empty() {
        object.string(THINKING_KEY, &thinking);
    }
    content.write_images(object);
    if calls.is_empty() {
        return;
    }
    object.array("tool_calls", |array| {
        for (index, part) in calls.into_iter().enumerate() {
            match part {
                Part::ToolCall(call) => {
                    let index = (audience == Audience::Client).then_some(index);
                    tool_calls::write_tool_call(call, &ids.call(&call.id), index, array, losses);
                }
                Part::Opaque(block) => array.raw(block.raw.as_str()),
                Part::Text(_)
                | Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolResult(_)
                | Part::File(_) => {}
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
