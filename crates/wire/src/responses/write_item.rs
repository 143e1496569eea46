//! Writes the model's output as items: of a history, of a response, or of a
//! stream's final event on an item.

use majordomo_llm::{Native, Part, Reasoning};

use super::RESPONSES;
use super::write_part::{ContentSide, is_content, writable, write_content, write_part};
use crate::arguments::arguments_or_none;
use crate::conversation::CallIds;
use crate::json::{Array, Object};
use crate::loss::Losses;

/// Id and status, which items of a response must have; items of a history may
/// omit them.
#[derive(Clone, Copy)]
pub(super) struct ItemHeader<'f> {
    /// Written if the item has no id.
    pub(super) id: &'f str,
    pub(super) status: &'f str,
}

/// An output item.
pub(super) enum ResponsesItem<'p> {
    /// Texts of one message.
    Message(Vec<&'p Part>),
    /// Reasoning, a tool call or a hosted tool's item.
    Single(&'p Part),
}

impl ResponsesItem<'_> {
    /// The id prefix of this kind of item.
    pub(super) fn prefix(&self) -> &'static str {
        match self {
            Self::Message(_) => "msg",
            Self::Single(Part::Reasoning(_)) => "rs",
            Self::Single(_) => "fc",
        }
    }
}

/// Groups parts into items: consecutive texts form one message, up to a text
/// that ended its original item.
pub(super) fn group_items<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Vec<ResponsesItem<'p>> {
    let mut items: Vec<ResponsesItem<'p>> = Vec::new();
    let mut open = false;
    for part in parts {
        if !is_content(part) {
            items.push(ResponsesItem::Single(part));
            open = false;
            continue;
        }
        match items.last_mut() {
            Some(ResponsesItem::Message(texts)) if open => texts.push(part),
            _ => items.push(ResponsesItem::Message(vec![part])),
        }
        open = !ends_item(part.native());
    }
    items
}

/// Whether a text ends the message item it was read from.
pub(super) fn ends_item(native: Option<&Native>) -> bool {
    let own = native.filter(|native| *native.dialect() == RESPONSES);
    own.is_some_and(|native| native.fields().any(|(name, _)| name.starts_with("item.")))
}

/// Writes items into an array.
pub(super) struct ResponsesItemWriter<'l> {
    pub(super) ids: CallIds,
    pub(super) losses: &'l mut Losses,
}

impl<'l> ResponsesItemWriter<'l> {
    pub(super) fn new(losses: &'l mut Losses) -> Self {
        Self {
            ids: CallIds::new(|c| c.is_ascii_graphic()),
            losses,
        }
    }

    /// Writes one item, if the dialect can express it. `native` holds the
    /// fields of the message with its texts.
    pub(super) fn write(
        &mut self,
        item: &ResponsesItem<'_>,
        native: Option<&Native>,
        header: Option<ItemHeader<'_>>,
        array: &mut Array<'_>,
    ) {
        match item {
            ResponsesItem::Message(parts) => {
                let parts = writable(parts.iter().copied(), ContentSide::Output, self.losses);
                if !parts.is_empty() {
                    array.object(|o| write_message_item(&parts, native, header, o, self.losses));
                }
            }
            ResponsesItem::Single(part) => self.write_single(part, header, array),
        }
    }

    fn write_single(&mut self, part: &Part, header: Option<ItemHeader<'_>>, array: &mut Array<'_>) {
        let native = self.losses.own(part.native(), &RESPONSES);
        match part {
            Part::Reasoning(reasoning) if native.is_some() => {
                array.object(|o| write_reasoning_item(reasoning, native, header, o));
            }
            // A client may see another model's reasoning; a model may not.
            Part::Reasoning(reasoning) if header.is_some() => {
                if !reasoning.text.is_empty() {
                    array.object(|o| write_reasoning_item(reasoning, None, header, o));
                }
            }
            Part::Reasoning(_) => self
                .losses
                .add("reasoning", "only the model that produced it can read it"),
            Part::ToolCall(call) => {
                let id = self.ids.call(&call.id);
                let arguments = arguments_or_none((&call.arguments).into());
                array.object(|o| {
                    write_function_call(&id, &call.name, &arguments, native, header, o);
                });
            }
            Part::Opaque(block) if block.origin == RESPONSES => array.raw(block.raw.as_str()),
            other @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => self.losses.part(other, "Responses has no such output item"),
        }
    }
}

/// Writes a message item.
pub(super) fn write_message_item(
    parts: &[&Part],
    native: Option<&Native>,
    header: Option<ItemHeader<'_>>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let of_parts = parts.iter().filter_map(|part| part.native());
    let of_parts = of_parts.filter(|native| *native.dialect() == RESPONSES);
    let of_parts = of_parts
        .flat_map(Native::fields)
        .filter_map(|(name, value)| Some((name.strip_prefix("item.")?, value)));
    let own = native.into_iter().flat_map(Native::fields);
    let fields: Vec<_> = own
        .filter(|(name, _)| !matches!(*name, "role" | "content"))
        .chain(of_parts)
        .map(|(name, value)| (name, value.as_str()))
        .collect();
    object.string("type", "message");
    write_header(&fields, header, object);
    object.string("role", "assistant");
    match header {
        // A response only has lists.
        Some(_) => object.array("content", |array| {
            for part in parts {
                write_part(part, ContentSide::Response, array, losses);
            }
        }),
        None => write_content(object, "content", parts, ContentSide::Output, losses),
    }
    write_rest(&fields, object);
}

/// Writes a reasoning item. Its own state is written verbatim; text of another
/// origin becomes a summary.
pub(super) fn write_reasoning_item(
    reasoning: &Reasoning,
    native: Option<&Native>,
    header: Option<ItemHeader<'_>>,
    object: &mut Object<'_>,
) {
    let fields: Vec<_> = native
        .into_iter()
        .flat_map(Native::fields)
        .map(|(name, value)| (name, value.as_str()))
        .collect();
    object.string("type", "reasoning");
    // Reasoning has no status unless its server set one.
    write_header(
        &fields,
        header.map(|header| ItemHeader {
            status: "",
            ..header
        }),
        object,
    );
    if native.is_none_or(|native| native.get("summary").is_none()) {
        object.array("summary", |array| {
            if !reasoning.text.is_empty() {
                array.object(|o| {
                    o.string("type", "summary_text");
                    o.string("text", &reasoning.text);
                });
            }
        });
    }
    write_rest(&fields, object);
}

/// Writes a function call under the id that pairs it with its result.
pub(super) fn write_function_call(
    call_id: &str,
    name: &str,
    arguments: &str,
    native: Option<&Native>,
    header: Option<ItemHeader<'_>>,
    object: &mut Object<'_>,
) {
    let fields: Vec<_> = native
        .into_iter()
        .flat_map(Native::fields)
        .map(|(name, value)| (name, value.as_str()))
        .collect();
    object.string("type", "function_call");
    write_header(&fields, header, object);
    object.string("call_id", call_id);
    object.string("name", name);
    object.string("arguments", arguments);
    write_rest(&fields, object);
}

/// Writes id and status, unless the item has its own.
fn write_header(fields: &[(&str, &str)], header: Option<ItemHeader<'_>>, object: &mut Object<'_>) {
    let Some(header) = header else { return };
    for (key, value) in [("id", header.id), ("status", header.status)] {
        if !value.is_empty() && fields.iter().all(|(name, _)| *name != key) {
            object.string(key, value);
        }
    }
}

fn write_rest(fields: &[(&str, &str)], object: &mut Object<'_>) {
    for (name, value) in fields {
        object.raw(name, value);
    }
}
