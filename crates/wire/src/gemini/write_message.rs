//! Writes `contents`.
//!
//! The only roles are `user` and `model`: system messages are instructions, which
//! the request writer puts into `systemInstruction`. The tool results of a turn
//! share one content, since their number must match that of the calls.

use std::collections::HashSet;

use majordomo_llm::{Message, Native, Part, Role, ToolCall, ToolResult};

use super::GEMINI;
use super::generation::GeminiGeneration;
use super::read_part::PLACEHOLDER_SIGNATURE;
use super::tool_results;
use super::write_part::{write_function_call, write_native, write_part};
use crate::conversation::{CallIds, ToolNames};
use crate::json::{Array, Object, object, write_array};
use crate::loss::Losses;
use crate::splice::{self, ElementOrigin, FieldAction};

/// Writes the elements of `contents`, in order.
pub(super) struct GeminiContentWriter<'w, 'a, 'l, 'm> {
    array: &'w mut Array<'a>,
    parts: GeminiPartWriter<'l, 'm>,
}

/// Writes parts, with the context they need from the conversation.
struct GeminiPartWriter<'l, 'm> {
    losses: &'l mut Losses,
    ids: CallIds,
    names: ToolNames<'m>,
    /// Generated ids, which are not written.
    generated_ids: HashSet<&'m str>,
    generation: GeminiGeneration,
}

impl<'w, 'a, 'l, 'm> GeminiContentWriter<'w, 'a, 'l, 'm> {
    pub(super) fn new(
        array: &'w mut Array<'a>,
        messages: &'m [Message],
        generated_ids: HashSet<&'m str>,
        generation: GeminiGeneration,
        losses: &'l mut Losses,
    ) -> Self {
        Self {
            array,
            parts: GeminiPartWriter {
                losses,
                ids: CallIds::new(|c| c.is_ascii_graphic()),
                names: ToolNames::of(messages),
                generated_ids,
                generation,
            },
        }
    }

    /// Writes messages; consecutive tool messages become one content.
    pub(super) fn write(&mut self, messages: &[Message]) {
        let same_content = |a: &Message, b: &Message| {
            a.role == Role::Tool && b.role == Role::Tool && a.native == b.native
        };
        for turn in messages.chunk_by(same_content) {
            let parts = turn.iter().flat_map(|message| &message.parts);
            self.write_content(&turn[0], &parts.collect::<Vec<_>>());
        }
    }

    /// Writes a message as the bytes it was read from.
    pub(super) fn keep(&mut self, message: &Message, raw: &str) {
        for call in message.tool_calls() {
            self.parts.ids.keep(&call.id, call.id.clone());
        }
        self.array.raw(raw);
    }

    /// Writes a message whose `parts` changed, splicing into its bytes; `elements` is
    /// the JSON of the original parts.
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

    fn write_content(&mut self, message: &Message, parts: &[&Part]) {
        let native = self.parts.losses.own(message.native.as_deref(), &GEMINI);
        let context = &mut self.parts;
        self.array.maybe(|out| {
            let mut wrote = false;
            object(out, |o| {
                write_role(o, message.role, native);
                let out = o.value("parts");
                let start = out.len();
                let empty = native.and_then(|native| native.get("parts"));
                if let (true, Some(empty)) = (parts.is_empty(), empty) {
                    out.extend_from_slice(empty.as_str().as_bytes());
                    wrote = true;
                    return write_native(o, native);
                }
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
                // The API rejects a content without parts.
                wrote = &out[start..] != b"[]";
                write_native(o, native);
            });
            wrote
        });
    }
}

impl GeminiPartWriter<'_, '_> {
    fn write(&mut self, part: &Part, first_call: bool, array: &mut Array<'_>) {
        match part {
            Part::ToolCall(call) => self.write_call(call, first_call, array),
            Part::ToolResult(result) => self.write_result(result, array),
            other @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::File(_)
            | Part::Opaque(_)) => write_part(other, array, self.losses),
        }
    }

    fn write_call(&mut self, call: &ToolCall, first: bool, array: &mut Array<'_>) {
        let id = self.ids.call(&call.id);
        let id = (!self.generated_ids.contains(call.id.as_str())).then_some(id.as_str());
        // Gemini 3 rejects a step whose first call has no signature.
        let needs_signature = first && self.generation == GeminiGeneration::ThinkingLevel;
        let placeholder = needs_signature.then_some(PLACEHOLDER_SIGNATURE);
        array.object(|o| write_function_call(call, id, placeholder, o, self.losses));
    }

    fn write_result(&mut self, result: &ToolResult, array: &mut Array<'_>) {
        let id = self.ids.result(&result.call_id);
        let called_name = self.names.get(&result.call_id);
        let name = result.name.as_deref().or(called_name).unwrap_or(&id);
        let has_wire_id = !id.is_empty() && !self.generated_ids.contains(result.call_id.as_str());
        let id = has_wire_id.then_some(&*id);
        let media_inside = self.generation == GeminiGeneration::ThinkingLevel;
        let mut separate = Vec::new();
        array.object(|o| {
            o.object("functionResponse", |o| {
                separate = tool_results::write_function_response(
                    result,
                    id,
                    name,
                    media_inside,
                    o,
                    self.losses,
                );
            });
            let native = result.native.as_deref();
            write_native(o, native.filter(|native| *native.dialect() == GEMINI));
        });
        for part in separate {
            write_part(part, array, self.losses);
        }
    }
}

fn write_role(object: &mut Object<'_>, role: Role, native: Option<&Native>) {
    match (native.and_then(|native| native.get("role")), role) {
        (Some(name), _) => object.raw("role", name.as_str()),
        (None, Role::Assistant) => object.string("role", "model"),
        (None, Role::User | Role::Tool | Role::System) => object.string("role", "user"),
    }
}
