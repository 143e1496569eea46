//! Writes `messages`.
//!
//! Tool messages hold only text. Images in tool results follow in a user message
//! after all tool messages of the turn, which must not be interrupted.

use majordomo_llm::{Message, Native, Part, Role, Text, ToolResult};

use super::CHAT;
use super::write_assistant::write_assistant_fields;
use super::write_part::{write_content, write_native, write_part};
use crate::conversation::CallIds;
use crate::json::{Array, Object};
use crate::loss::{LossVerb, Losses};
use crate::splice::{self, ElementOrigin, FieldAction};

/// Writes the elements of `messages`, in order.
pub(super) struct ChatMessageWriter<'w, 'a, 'l> {
    array: &'w mut Array<'a>,
    losses: &'l mut Losses,
    ids: CallIds,
    /// Images from tool results, with their call ids, deferred to the end of the turn.
    images: Vec<(String, Part)>,
}

impl<'w, 'a, 'l> ChatMessageWriter<'w, 'a, 'l> {
    pub(super) fn new(array: &'w mut Array<'a>, losses: &'l mut Losses) -> Self {
        Self {
            array,
            losses,
            ids: CallIds::new(|c| c.is_ascii_graphic()),
            images: Vec::new(),
        }
    }

    /// Writes the prompt's instructions as the first message.
    pub(super) fn instructions(&mut self, system: &[Text]) {
        let parts: Vec<Part> = system.iter().cloned().map(Part::Text).collect();
        if !parts.is_empty() {
            self.write(&Message::new(Role::System, parts));
        }
    }

    /// Writes a message as the bytes it was read from.
    pub(super) fn keep(&mut self, message: &Message, raw: &str) {
        for call in message.tool_calls() {
            self.ids.keep(&call.id, call.id.clone());
        }
        if message.tool_results().next().is_none() {
            self.flush_images();
        }
        self.array.raw(raw);
    }

    /// Writes a message, which may become several.
    pub(super) fn write(&mut self, message: &Message) {
        let mut results = message.tool_results().peekable();
        if results.peek().is_some() {
            // Filtered once for all results, since there may be many native fields.
            let native = self.losses.own(message.native.as_deref(), &CHAT);
            results.for_each(|result| self.tool_result(native, result));
        }
        let rest: Vec<&Part> = message
            .parts
            .iter()
            .filter(|part| !matches!(part, Part::ToolResult(_)))
            .collect();
        if rest.is_empty()
            && (message.role == Role::Tool || message.tool_results().next().is_some())
        {
            return;
        }
        // A user message is kept as a turn even if every part is lost.
        let droppable = message.role != Role::User;
        if droppable && !rest.is_empty() && rest.iter().all(|part| is_foreign(part)) {
            return rest.iter().for_each(|part| self.record_loss(part));
        }
        self.flush_images();
        match message.role {
            Role::Assistant => self.assistant_message(message, &rest),
            role => self.plain_message(message, role, &rest),
        }
    }

    /// Writes a message whose `content` changed, splicing into its bytes; `elements`
    /// is the JSON of the original parts.
    pub(super) fn splice(&mut self, old: &Message, new: &Message, raw: &str, elements: &[&str]) {
        self.flush_images();
        let origins = splice::align(&old.parts, &new.parts);
        let losses = &mut *self.losses;
        let mut content = |key: &str, _: &str, out: &mut bytes::BytesMut| {
            if key != "content" {
                return FieldAction::Keep;
            }
            crate::json::write_array(out, |array| {
                for (part, origin) in new.parts.iter().zip(&origins) {
                    match origin {
                        ElementOrigin::Same(from) => array.raw(elements[*from]),
                        _ => write_part(part, array, losses),
                    }
                }
            });
            FieldAction::Replace
        };
        splice::object(raw, self.array.value(), &mut content);
    }

    /// Records the loss of a part in a message that is dropped.
    fn record_loss(&mut self, part: &Part) {
        self.losses.own(part.native(), &CHAT);
        self.losses.part(part, "only its own dialect can read it");
    }

    /// Writes the images still deferred.
    pub(super) fn finish(mut self) {
        self.flush_images();
    }

    fn plain_message(&mut self, message: &Message, role: Role, parts: &[&Part]) {
        let native = self.losses.own(message.native.as_deref(), &CHAT);
        let default = if role == Role::System {
            "system"
        } else {
            "user"
        };
        let losses = &mut *self.losses;
        self.array.object(|o| {
            write_role(o, native, default);
            write_content(o, parts, native, losses);
            write_native(o, native);
        });
    }

    fn assistant_message(&mut self, message: &Message, parts: &[&Part]) {
        let native = self.losses.own(message.native.as_deref(), &CHAT);
        let (losses, ids) = (&mut *self.losses, &mut self.ids);
        self.array.object(|o| {
            write_role(o, native, "assistant");
            write_assistant_fields(o, parts, native, ids, losses);
            write_native(o, native);
        });
    }

    fn tool_result(&mut self, native: Option<&Native>, result: &ToolResult) {
        self.losses.own(result.native.as_deref(), &CHAT);
        let id = self.ids.result(&result.call_id).into_owned();
        let (texts, others): (Vec<&Part>, Vec<&Part>) = result
            .parts
            .iter()
            .partition(|p| matches!(p, Part::Text(_)));
        let mut images = 0;
        for part in others {
            match part {
                Part::Image(_) | Part::RemoteImage(_) => {
                    images += 1;
                    self.images.push((id.clone(), part.clone()));
                }
                other @ (Part::Text(_)
                | Part::Refusal(_)
                | Part::Reasoning(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_)) => self.losses.part(other, "tool messages hold text only"),
            }
        }
        let mut texts: Vec<Part> = texts.into_iter().cloned().collect();
        if texts.is_empty() && images > 0 {
            texts.push(Part::text("see image below"));
        }
        if result.is_error {
            self.losses.record(
                LossVerb::Prefixed,
                "is_error",
                "written as the prefix `ERROR: `",
            );
            match texts.first_mut() {
                Some(Part::Text(first)) => first.text.insert_str(0, "ERROR: "),
                _ => texts.push(Part::text("ERROR: ")),
            }
        }
        let losses = &mut *self.losses;
        self.array.object(|o| {
            // Also for the deprecated role `function`, whose calls become `tool_calls`.
            o.string("role", "tool");
            o.string("tool_call_id", &id);
            write_content(o, &texts.iter().collect::<Vec<_>>(), native, losses);
            write_native(o, native);
        });
    }

    /// Writes the deferred images as a user message, labelled with their call ids.
    fn flush_images(&mut self) {
        let images = std::mem::take(&mut self.images);
        if images.is_empty() {
            return;
        }
        let losses = &mut *self.losses;
        self.array.object(|o| {
            o.string("role", "user");
            o.array("content", |a| {
                let mut labelled = None;
                for (call, image) in &images {
                    if labelled != Some(call) {
                        let text = format!("Image from the tool call {call}:");
                        write_part(&Part::text(text), a, losses);
                        labelled = Some(call);
                    }
                    write_part(image, a, losses);
                }
            });
        });
    }
}

/// Whether no server of this dialect can interpret a part.
fn is_foreign(part: &Part) -> bool {
    match part {
        Part::Reasoning(reasoning) => {
            let native = reasoning.native.as_ref();
            native.is_none_or(|native| *native.dialect() != CHAT)
        }
        Part::Opaque(block) => block.origin != CHAT,
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_) => false,
    }
}

fn write_role(object: &mut Object<'_>, native: Option<&Native>, default: &str) {
    match native.and_then(|native| native.get("role")) {
        Some(role) => object.raw("role", role.as_str()),
        None => object.string("role", default),
    }
}
