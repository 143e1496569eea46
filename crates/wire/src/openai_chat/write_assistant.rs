//! Writes the fields of an assistant message: content, reasoning, refusal and tool calls.
//!
//! Requests and responses share them.

use std::collections::{HashMap, HashSet};

use majordomo_llm::{Json, Native, Part};

use super::CHAT;
use super::write_part::{list_elements, native_field, write_native, write_part};
use crate::arguments::arguments_or_none;
use crate::conversation::CallIds;
use crate::json::{Array, Object};
use crate::loss::Losses;

/// Writes the fields of an assistant message.
pub(super) fn write_assistant_fields(
    object: &mut Object<'_>,
    parts: &[&Part],
    native: Option<&Native>,
    ids: &mut CallIds,
    losses: &mut Losses,
) {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    let mut reasoning_fields = ChatReasoningFields::default();
    let mut refusal = String::new();
    for part in parts {
        match part {
            Part::Text(_) => content.push(*part),
            Part::Reasoning(reasoning) => match losses.own(reasoning.native.as_deref(), &CHAT) {
                Some(native) if native_field(native).as_deref() == Some("thinking") => {
                    content.push(*part)
                }
                Some(native) => reasoning_fields.add(&reasoning.text, native),
                None => losses.add("reasoning", "only the model that produced it can read it"),
            },
            Part::Refusal(text) => refusal.push_str(&text.text),
            Part::ToolCall(_) => calls.push(*part),
            Part::Opaque(block)
                if block.origin == CHAT && block.kind.starts_with("tool_calls.") =>
            {
                calls.push(*part);
            }
            other @ (Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => losses.part(other, "assistant messages hold text only"),
        }
    }
    reasoning_fields.write(object);
    let default = match calls.is_empty() && refusal.is_empty() {
        true => "\"\"",
        false => "null",
    };
    let empty = native.and_then(|native| native.get("content"));
    let empty = empty.map_or(default, Json::as_str);
    write_assistant_content(object, &content, empty, losses);
    if !refusal.is_empty() {
        object.string("refusal", &refusal);
    }
    if calls.is_empty() {
        return;
    }
    object.array("tool_calls", |array| {
        for call in calls {
            write_tool_call(call, array, ids, losses);
        }
    });
}

/// Reasoning by the key it was read from; each key is written once.
#[derive(Default)]
struct ChatReasoningFields {
    texts: Vec<(String, String)>,
    /// The position of each key in `texts`.
    text_at: HashMap<String, usize>,
    /// Arrays of `reasoning_details`, concatenated when written.
    details: Vec<Json>,
    others: Vec<(String, Json)>,
    other_names: HashSet<String>,
}

impl ChatReasoningFields {
    fn add(&mut self, text: &str, native: &Native) {
        if let Some(field) = native_field(native) {
            match self.text_at.get(&field) {
                Some(at) => self.texts[*at].1.push_str(text),
                None => {
                    self.text_at.insert(field.clone(), self.texts.len());
                    self.texts.push((field, text.to_owned()));
                }
            }
        }
        for (name, value) in native.fields() {
            match name {
                "field" => {}
                "reasoning_details" => self.details.push(value.clone()),
                _ if self.other_names.insert(name.to_owned()) => {
                    self.others.push((name.to_owned(), value.clone()));
                }
                _ => {}
            }
        }
    }

    fn write(&self, object: &mut Object<'_>) {
        for (field, text) in &self.texts {
            object.string(field, text);
        }
        match &self.details[..] {
            [] => {}
            [only] => object.raw("reasoning_details", only.as_str()),
            several => object.array("reasoning_details", |array| {
                for list in several.iter().map(|list| list_elements(list.as_str())) {
                    if !list.is_empty() {
                        array.raw(list);
                    }
                }
            }),
        }
        for (name, value) in &self.others {
            if !self.text_at.contains_key(name) {
                object.raw(name, value.as_str());
            }
        }
    }
}

/// Writes `content` as one string if that is lossless, since every server accepts it; writes
/// `empty` if there is none.
fn write_assistant_content(
    object: &mut Object<'_>,
    content: &[&Part],
    empty: &str,
    losses: &mut Losses,
) {
    let mut plain = |part: &&Part| match part {
        Part::Text(text) => losses.own(text.native.as_deref(), &CHAT).is_none(),
        Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => false,
    };
    if content.is_empty() {
        return object.raw("content", empty);
    }
    if content.iter().all(&mut plain) {
        let text: String = content.iter().filter_map(|part| part.as_text()).collect();
        return object.string("content", &text);
    }
    object.array("content", |array| {
        for part in content {
            write_part(part, array, losses);
        }
    });
}

fn write_tool_call(part: &Part, array: &mut Array<'_>, ids: &mut CallIds, losses: &mut Losses) {
    let call = match part {
        Part::ToolCall(call) => call,
        Part::Opaque(block) => return array.raw(block.raw.as_str()),
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolResult(_)
        | Part::File(_) => return,
    };
    let native = losses.own(call.native.as_deref(), &CHAT);
    let id = ids.call(&call.id);
    array.object(|o| {
        o.string("id", &id);
        o.string("type", "function");
        o.object("function", |o| {
            o.string("name", &call.name);
            o.string("arguments", &arguments_or_none((&call.arguments).into()));
            o.nested(native, "function");
        });
        write_native(o, native);
    });
}
