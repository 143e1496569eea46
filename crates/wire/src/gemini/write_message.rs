//! Writes the conversation.
//!
//! Only the user and the model speak here: a system message in the middle is
//! said by the user, and the answers of tools that belong to one turn go into
//! one content, since their number must be that of the calls.

use std::collections::HashSet;

use majordomo_llm::{Message, Native, Part, Role, ToolCall, ToolResult};

use super::GEMINI;
use super::generation::Generation;
use super::read_part::NO_SIGNATURE;
use super::tool_results;
use super::write_part::{write_call, write_native, write_part};
use crate::conversation::{CallIds, ToolNames};
use crate::json::{Array, Object, object, write_array};
use crate::loss::Losses;
use crate::splice::{self, ElementOrigin, FieldAction};

/// Writes the elements of `contents`, in order.
pub(super) struct ContentWriter<'w, 'a, 'l, 'm> {
    array: &'w mut Array<'a>,
    parts: PartContext<'l, 'm>,
}

/// What writing a part needs of the conversation around it.
struct PartContext<'l, 'm> {
    losses: &'l mut Losses,
    ids: CallIds,
    names: ToolNames<'m>,
    /// Ids that were made up for calls which stay nameless on the wire.
    made_up: HashSet<&'m str>,
    generation: Generation,
}

impl<'w, 'a, 'l, 'm> ContentWriter<'w, 'a, 'l, 'm> {
    pub(super) fn new(
        array: &'w mut Array<'a>,
        messages: &'m [Message],
        made_up: HashSet<&'m str>,
        generation: Generation,
        losses: &'l mut Losses,
    ) -> Self {
        Self {
            array,
            parts: PartContext {
                losses,
                ids: CallIds::new(|c| c.is_ascii_graphic()),
                names: ToolNames::of(messages),
                made_up,
                generation,
            },
        }
    }

    /// Writes messages; those of tools that follow each other become one.
    pub(super) fn write(&mut self, messages: &[Message]) {
        let together = |a: &Message, b: &Message| {
            a.role == Role::Tool && b.role == Role::Tool && a.native == b.native
        };
        for turn in messages.chunk_by(together) {
            let parts = turn.iter().flat_map(|message| &message.parts);
            self.content(&turn[0], &parts.collect::<Vec<_>>());
        }
    }

    /// Writes a message as the bytes that it was read from.
    pub(super) fn keep(&mut self, message: &Message, raw: &str) {
        for call in message.tool_calls() {
            self.parts.ids.keep(&call.id, call.id.clone());
        }
        self.array.raw(raw);
    }

    /// Writes a message of which only the parts changed; `elements` are the
    /// texts of those that it was read from.
    pub(super) fn splice(&mut self, old: &Message, new: &Message, raw: &str, elements: &[&str]) {
        let origins = splice::align(&old.parts, &new.parts);
        let parts = &mut self.parts;
        let mut rewrite = |key: &str, _: &str, out: &mut bytes::BytesMut| {
            if key != "parts" {
                return FieldAction::Keep;
            }
            write_array(out, |array| {
                let mut first_call = true;
                for (part, origin) in new.parts.iter().zip(&origins) {
                    match (origin, part) {
                        (ElementOrigin::Same(from), Part::ToolCall(call)) => {
                            parts.ids.keep(&call.id, call.id.clone());
                            array.raw(elements[*from]);
                        }
                        (ElementOrigin::Same(from), _) => array.raw(elements[*from]),
                        _ => parts.write(part, first_call, array),
                    }
                    first_call &= !matches!(part, Part::ToolCall(_));
                }
            });
            FieldAction::Replace
        };
        splice::object(raw, self.array.value(), &mut rewrite);
    }

    fn content(&mut self, message: &Message, parts: &[&Part]) {
        let native = self.parts.losses.own(message.native.as_deref(), &GEMINI);
        if message.role == Role::System {
            self.parts.losses.add(
                "system",
                "in the middle of a conversation it is said by the user",
            );
        }
        let context = &mut self.parts;
        self.array.maybe(|out| {
            let mut wrote = false;
            object(out, |o| {
                write_role(o, message.role, native);
                let out = o.value("parts");
                let start = out.len();
                write_array(out, |array| {
                    if parts.is_empty() {
                        array.object(|o| o.string("text", ""));
                    }
                    let mut first_call = true;
                    for part in parts {
                        context.write(part, first_call, array);
                        first_call &= !matches!(part, Part::ToolCall(_));
                    }
                });
                // A content without parts is refused.
                wrote = &out[start..] != b"[]";
                write_native(o, native);
            });
            wrote
        });
    }
}

impl PartContext<'_, '_> {
    fn write(&mut self, part: &Part, first_call: bool, array: &mut Array<'_>) {
        match part {
            Part::ToolCall(call) => self.call(call, first_call, array),
            Part::ToolResult(result) => self.result(result, array),
            other => write_part(other, array, self.losses),
        }
    }

    fn call(&mut self, call: &ToolCall, first: bool, array: &mut Array<'_>) {
        let id = self.ids.call(&call.id);
        let id = (!self.made_up.contains(call.id.as_str())).then_some(id.as_str());
        // Newer models refuse a step whose first call nobody signed.
        let unsigned = first && self.generation == Generation::Levels;
        let stand_in = unsigned.then_some(NO_SIGNATURE);
        array.object(|o| write_call(call, id, stand_in, o, self.losses));
    }

    fn result(&mut self, result: &ToolResult, array: &mut Array<'_>) {
        let id = self.ids.result(&result.call_id);
        let called = self.names.get(&result.call_id);
        let name = result.name.as_deref().or(called).unwrap_or(&id);
        let known = !id.is_empty() && !self.made_up.contains(result.call_id.as_str());
        let id = known.then_some(&*id);
        let inside = self.generation == Generation::Levels;
        let mut beside = Vec::new();
        array.object(|o| {
            o.object("functionResponse", |o| {
                beside = tool_results::write(result, id, name, inside, o, self.losses);
            });
            let native = result.native.as_deref();
            write_native(o, native.filter(|native| *native.dialect() == GEMINI));
        });
        for part in beside {
            write_part(part, array, self.losses);
        }
    }
}

fn write_role(object: &mut Object<'_>, role: Role, native: Option<&Native>) {
    match (native.and_then(|native| native.get("role")), role) {
        (Some(word), _) => object.raw("role", word.as_str()),
        (None, Role::Assistant) => object.string("role", "model"),
        (None, Role::User | Role::Tool | Role::System) => object.string("role", "user"),
    }
}
