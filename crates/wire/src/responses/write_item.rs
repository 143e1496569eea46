//! Writes what the model said, as items: of a history, of an answer or of a
//! stream's last word on one.

use majordomo_llm::{Native, Part, Reasoning};

use super::RESPONSES;
use super::write_part::{Side, is_content, writable, write_content, write_part};
use crate::conversation::CallIds;
use crate::json::{Array, Object};
use crate::loss::Losses;

/// What an item of an answer must have; an item of a history may have none.
#[derive(Clone, Copy)]
pub(super) struct Face<'f> {
    /// Stands where the item has no id of its own.
    pub(super) id: &'f str,
    pub(super) status: &'f str,
}

/// An item of the model.
pub(super) enum Item<'p> {
    /// Texts that belong to one message.
    Message(Vec<&'p Part>),
    /// Reasoning, a call, a hosted tool's item.
    Single(&'p Part),
}

impl Item<'_> {
    /// What ids of such items begin with.
    pub(super) fn prefix(&self) -> &'static str {
        match self {
            Self::Message(_) => "msg",
            Self::Single(Part::Reasoning(_)) => "rs",
            Self::Single(_) => "fc",
        }
    }
}

/// Groups parts into items: texts in a row are one message, until one says that
/// it was the last of its own.
pub(super) fn items<'p>(parts: impl IntoIterator<Item = &'p Part>) -> Vec<Item<'p>> {
    let mut items: Vec<Item<'p>> = Vec::new();
    let mut open = false;
    for part in parts {
        if !is_content(part) {
            items.push(Item::Single(part));
            open = false;
            continue;
        }
        match items.last_mut() {
            Some(Item::Message(texts)) if open => texts.push(part),
            _ => items.push(Item::Message(vec![part])),
        }
        open = !ends_item(part.native());
    }
    items
}

/// Whether a text is the last one of the message item that it came from.
pub(super) fn ends_item(native: Option<&Native>) -> bool {
    let own = native.filter(|native| *native.dialect() == RESPONSES);
    own.is_some_and(|native| native.fields().any(|(name, _)| name.starts_with("item.")))
}

/// Writes items into a list.
pub(super) struct ItemWriter<'l> {
    pub(super) ids: CallIds,
    pub(super) losses: &'l mut Losses,
}

impl<'l> ItemWriter<'l> {
    pub(super) fn new(losses: &'l mut Losses) -> Self {
        Self {
            ids: CallIds::new(|c| c.is_ascii_graphic()),
            losses,
        }
    }

    /// Writes one item, if it can be said. `native` are the fields of the
    /// message that its texts came in.
    pub(super) fn write(
        &mut self,
        item: &Item<'_>,
        native: Option<&Native>,
        face: Option<Face<'_>>,
        array: &mut Array<'_>,
    ) {
        match item {
            Item::Message(parts) => {
                let parts = writable(parts.iter().copied(), Side::Output, self.losses);
                if !parts.is_empty() {
                    array.object(|o| message(&parts, native, face, o, self.losses));
                }
            }
            Item::Single(part) => self.single(part, face, array),
        }
    }

    fn single(&mut self, part: &Part, face: Option<Face<'_>>, array: &mut Array<'_>) {
        let native = self.losses.own(part.native(), &RESPONSES);
        match part {
            Part::Reasoning(thought) if native.is_some() => {
                array.object(|o| reasoning(thought, native, face, o));
            }
            // A client may see what another model thought; a model may not.
            Part::Reasoning(thought) if face.is_some() => {
                if !thought.text.is_empty() {
                    array.object(|o| reasoning(thought, None, face, o));
                }
            }
            Part::Reasoning(_) => self
                .losses
                .add("reasoning", "only the model that thought it can read it"),
            Part::ToolCall(call) => {
                let id = self.ids.call(&call.id);
                // Clients parse the arguments, so no arguments are an empty object.
                let arguments = match face {
                    Some(_) if call.arguments.trim().is_empty() => "{}",
                    _ => &call.arguments,
                };
                array.object(|o| function_call(&id, &call.name, arguments, native, face, o));
            }
            Part::Opaque(block) if block.origin == RESPONSES => array.raw(block.raw.as_str()),
            other => self
                .losses
                .part(other, "Responses has no such item of a model"),
        }
    }
}

/// A message of the model.
pub(super) fn message(
    parts: &[&Part],
    native: Option<&Native>,
    face: Option<Face<'_>>,
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
        .filter(|(name, _)| *name != "role")
        .chain(of_parts)
        .map(|(name, value)| (name, value.as_str()))
        .collect();
    object.string("type", "message");
    write_face(&fields, face, object);
    object.string("role", "assistant");
    match face {
        // An answer has lists only.
        Some(_) => object.array("content", |array| {
            for part in parts {
                write_part(part, Side::Answer, array, losses);
            }
        }),
        None => write_content(object, "content", parts, Side::Output, losses),
    }
    write_rest(&fields, object);
}

/// A reasoning item. Its own state is written verbatim; text of another origin
/// is shown as a summary.
pub(super) fn reasoning(
    thought: &Reasoning,
    native: Option<&Native>,
    face: Option<Face<'_>>,
    object: &mut Object<'_>,
) {
    let fields: Vec<_> = native
        .into_iter()
        .flat_map(Native::fields)
        .map(|(name, value)| (name, value.as_str()))
        .collect();
    object.string("type", "reasoning");
    // Reasoning has no status unless its server gave it one.
    write_face(
        &fields,
        face.map(|face| Face { status: "", ..face }),
        object,
    );
    if native.is_none_or(|native| native.get("summary").is_none()) {
        object.array("summary", |array| {
            if !thought.text.is_empty() {
                array.object(|o| {
                    o.string("type", "summary_text");
                    o.string("text", &thought.text);
                });
            }
        });
    }
    write_rest(&fields, object);
}

/// A function call under the id that pairs it with its result.
pub(super) fn function_call(
    call_id: &str,
    name: &str,
    arguments: &str,
    native: Option<&Native>,
    face: Option<Face<'_>>,
    object: &mut Object<'_>,
) {
    let fields: Vec<_> = native
        .into_iter()
        .flat_map(Native::fields)
        .map(|(name, value)| (name, value.as_str()))
        .collect();
    object.string("type", "function_call");
    write_face(&fields, face, object);
    object.string("call_id", call_id);
    object.string("name", name);
    object.string("arguments", arguments);
    write_rest(&fields, object);
}

/// Id and status for an item that does not bring its own.
fn write_face(fields: &[(&str, &str)], face: Option<Face<'_>>, object: &mut Object<'_>) {
    let Some(face) = face else { return };
    for (key, value) in [("id", face.id), ("status", face.status)] {
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
