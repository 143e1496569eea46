//! Writes messages as items; one message may become several items.

use bytes::BytesMut;
use majordomo_llm::{Message, Native, Part, Role, ToolResult};

use super::RESPONSES;
use super::read_message::CUSTOM_RESULT;
use super::write_item::{ResponsesItem, ResponsesItemWriter, group_items};
use super::write_part::{ContentSide, is_content, writable, write_content, write_part};
use crate::declared_tool::text;
use crate::json::{Array, write_array, write_string};
use crate::loss::{LossVerb, Losses};
use crate::splice::{self, ElementOrigin, FieldAction};

/// Writes the elements of `input`, in order.
pub(super) struct ResponsesMessageWriter<'w, 'a, 'l> {
    array: &'w mut Array<'a>,
    items: ResponsesItemWriter<'l>,
}

impl<'w, 'a, 'l> ResponsesMessageWriter<'w, 'a, 'l> {
    pub(super) fn new(array: &'w mut Array<'a>, losses: &'l mut Losses) -> Self {
        Self {
            array,
            items: ResponsesItemWriter::new(losses),
        }
    }

    /// Writes a message's original text.
    pub(super) fn keep(&mut self, message: &Message, raw: &str) {
        for call in message.tool_calls() {
            self.items.ids.keep(&call.id, call.id.clone());
        }
        self.array.raw(raw);
    }

    /// Writes a message.
    pub(super) fn write(&mut self, message: &Message) {
        match message.role {
            Role::Assistant => self.write_assistant(message),
            role => self.write_non_assistant(message, role),
        }
    }

    /// Writes a message of which only the content changed, keeping the text of
    /// everything else. Returns false and writes nothing if more has changed.
    pub(super) fn splice(&mut self, old: &Message, new: &Message, raw: &str) -> bool {
        if new.role != old.role || new.native != old.native {
            return false;
        }
        let (key, side, old_parts, new_parts) = match (&old.parts[..], &new.parts[..]) {
            ([Part::ToolResult(old)], [Part::ToolResult(new)]) => {
                let without_parts = |result: &ToolResult| ToolResult {
                    parts: Vec::new(),
                    ..result.clone()
                };
                let same_call = without_parts(old) == without_parts(new) && !new.is_error;
                if !same_call {
                    return false;
                }
                ("output", ContentSide::Input, &old.parts, &new.parts)
            }
            (old_parts, new_parts) => {
                let side = match new.role {
                    Role::Assistant => ContentSide::Output,
                    _ => ContentSide::Input,
                };
                if !old_parts.iter().chain(new_parts).all(is_content) {
                    return false;
                }
                ("content", side, &old.parts, &new.parts)
            }
        };
        let Some(value) = splice::member(raw, key) else {
            return false;
        };
        if !new_parts.iter().any(|part| side.can_hold(part)) {
            return false;
        }
        let elements = splice::elements(value).unwrap_or_default();
        let known = elements.len() == old_parts.len();
        let origins = match known {
            true => splice::align(old_parts, new_parts),
            false => vec![ElementOrigin::New; new_parts.len()],
        };
        let losses = &mut *self.items.losses;
        let mut content = |name: &str, _: &str, out: &mut BytesMut| {
            if name != key {
                return FieldAction::Keep;
            }
            match &new_parts[..] {
                [Part::Text(text)] if value.starts_with('"') && text.native.is_none() => {
                    write_string(out, &text.text);
                }
                parts => write_array(out, |array| {
                    for (part, origin) in parts.iter().zip(&origins) {
                        match origin {
                            ElementOrigin::Same(from) => array.raw(elements[*from]),
                            _ => write_part(part, side, array, losses),
                        }
                    }
                }),
            }
            FieldAction::Replace
        };
        // `raw` has a member, so it is an object.
        splice::object(raw, self.array.value(), &mut content);
        true
    }

    fn write_assistant(&mut self, message: &Message) {
        let native = self.items.losses.own(message.native.as_deref(), &RESPONSES);
        if message.parts.is_empty() {
            return self.array.object(|o| {
                o.string("type", "message");
                o.string("role", "assistant");
                if native.is_none_or(|native| native.get("content").is_none()) {
                    o.string("content", "");
                }
                o.native(native);
            });
        }
        let mut native = native;
        for item in group_items(&message.parts) {
            // The fields belong to one message item: the first.
            let fields = match item {
                ResponsesItem::Message(_) => native.take(),
                ResponsesItem::Single(_) => None,
            };
            self.items.write(&item, fields, None, self.array);
        }
    }

    /// Writes results and other items first: they belong to the preceding
    /// calls.
    fn write_non_assistant(&mut self, message: &Message, role: Role) {
        let mut content = Vec::new();
        let mut has_items = role == Role::Tool;
        for part in &message.parts {
            match part {
                Part::ToolResult(result) => {
                    self.write_tool_result(result);
                    has_items = true;
                }
                Part::Opaque(block) if block.origin == RESPONSES && !is_content(part) => {
                    self.array.raw(block.raw.as_str());
                    has_items = true;
                }
                part @ (Part::Text(_)
                | Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolCall(_)
                | Part::File(_)
                | Part::Opaque(_)) => content.push(part),
            }
        }
        let losses = &mut *self.items.losses;
        let content = writable(content, ContentSide::Input, losses);
        // A user turn is kept even if none of its content can be written.
        if content.is_empty() && has_items {
            return;
        }
        let native = losses.own(message.native.as_deref(), &RESPONSES);
        let default = match role {
            Role::System => "system",
            _ => "user",
        };
        self.array.object(|o| {
            o.string("type", "message");
            match native.and_then(|native| native.get("role")) {
                Some(role) => o.raw("role", role.as_str()),
                None => o.string("role", default),
            }
            match native.and_then(|native| native.get("content")) {
                Some(empty) if content.is_empty() => o.raw("content", empty.as_str()),
                _ => write_content(o, "content", &content, ContentSide::Input, losses),
            }
            let fields = native.into_iter().flat_map(|native| native.fields());
            for (name, value) in fields.filter(|(name, _)| !matches!(*name, "role" | "content")) {
                o.raw(name, value.as_str());
            }
        });
    }

    fn write_tool_result(&mut self, result: &ToolResult) {
        let losses = &mut *self.items.losses;
        let native = losses.own(result.native.as_deref(), &RESPONSES);
        let id = self.items.ids.result(&result.call_id).into_owned();
        let error_parts = error_parts(result, losses);
        let parts = error_parts.as_ref().unwrap_or(&result.parts);
        let parts = writable(parts, ContentSide::Input, losses);
        let is_custom = native.and_then(|native| text(native, "field"));
        let is_custom = is_custom.is_some_and(|kind| kind == CUSTOM_RESULT);
        let kind = if is_custom {
            CUSTOM_RESULT
        } else {
            "function_call_output"
        };
        self.array.object(|o| {
            o.string("type", kind);
            o.string("call_id", &id);
            write_content(o, "output", &parts, ContentSide::Input, losses);
            for (name, value) in native.into_iter().flat_map(Native::fields) {
                if name != "field" {
                    o.raw(name, value.as_str());
                }
            }
        });
    }
}

/// Returns the parts of a failed result, marked as such in the text, since
/// there is no flag.
fn error_parts(result: &ToolResult, losses: &mut Losses) -> Option<Vec<Part>> {
    if !result.is_error {
        return None;
    }
    losses.record(
        LossVerb::Prefixed,
        "is_error",
        "written as the prefix `ERROR: `",
    );
    let mut parts = result.parts.clone();
    match parts.first_mut() {
        Some(Part::Text(first)) => first.text.insert_str(0, "ERROR: "),
        _ => parts.insert(0, Part::text("ERROR: ")),
    }
    Some(parts)
}
