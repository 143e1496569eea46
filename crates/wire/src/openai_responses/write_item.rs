//! Writes the model's output as items: of a history, of a response, or of a
//! stream's final event on an item.

use majordomo_llm::{Native, Part, Reasoning};

use super::RESPONSES;
use super::read_message::CUSTOM_CALL;
use super::write_part::{ContentSide, is_content, writable, write_content, write_part};
use crate::RequestEcho;
use crate::arguments::arguments_or_none;
use crate::conversation::CallIds;
use crate::custom_input::unwrap_input;
use crate::declared_tool::{DeclaredTool, text};
use crate::json::{Array, Object};
use crate::loss::Losses;
use crate::sealed_state::{seal_call, seal_reasoning};

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
    /// The request that the items respond to, in a response.
    echo: Option<&'l RequestEcho>,
}

impl<'l> ResponsesItemWriter<'l> {
    pub(super) fn new(losses: &'l mut Losses) -> Self {
        Self {
            ids: CallIds::new(|c| c.is_ascii_graphic()),
            losses,
            echo: None,
        }
    }

    /// Writes the items of a response to this request.
    pub(super) fn responding_to(mut self, echo: &'l RequestEcho) -> Self {
        self.echo = Some(echo);
        self
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

    /// Seals the state of reasoning or of a call.
    fn seal(&mut self, part: &Part) -> Option<String> {
        match part {
            Part::Reasoning(reasoning) => {
                let native = reasoning.native.as_deref();
                seal_reasoning(&reasoning.text, native, &RESPONSES, self.losses)
            }
            Part::ToolCall(call) => seal_call(call.native.as_deref(), &RESPONSES, self.losses),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => None,
        }
    }

    fn write_single(&mut self, part: &Part, header: Option<ItemHeader<'_>>, array: &mut Array<'_>) {
        // Clients send sealed state back.
        let sealed = header.and_then(|_| self.seal(part));
        let native = match &sealed {
            Some(_) => None,
            None => self.losses.own(part.native(), &RESPONSES),
        };
        let sealed = sealed.as_deref();
        match part {
            Part::Reasoning(reasoning) if native.is_some() || sealed.is_some() => {
                array.object(|o| write_reasoning_item(reasoning, native, sealed, header, o));
            }
            // A client may see another model's reasoning; a model may not.
            Part::Reasoning(reasoning) if header.is_some() => {
                if !reasoning.text.is_empty() {
                    array.object(|o| write_reasoning_item(reasoning, None, None, header, o));
                }
            }
            Part::Reasoning(_) => self
                .losses
                .add("reasoning", "only the model that produced it can read it"),
            Part::ToolCall(call) => {
                if let (Some(sealed), Some(header)) = (sealed, header) {
                    let id = format!("rs_{}", header.id);
                    let header = ItemHeader { id: &id, ..header };
                    let empty = Reasoning::default();
                    array.object(|o| {
                        write_reasoning_item(&empty, None, Some(sealed), Some(header), o);
                    });
                }
                let id = self.ids.call(&call.id);
                let arguments = arguments_or_none((&call.arguments).into());
                let declared = declared_call(&call.name, native, self.echo);
                let written = WrittenCall {
                    call_id: &id,
                    name: &declared.name,
                    namespace: declared.namespace.as_deref(),
                    is_custom: declared.is_custom,
                    arguments: &arguments,
                };
                array.object(|o| written.write(native, header, o));
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

/// Writes a reasoning item. Its own state is written verbatim, state of another origin
/// sealed; text of another origin becomes a summary.
pub(super) fn write_reasoning_item(
    reasoning: &Reasoning,
    native: Option<&Native>,
    sealed: Option<&str>,
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
    if let Some(sealed) = sealed {
        object.string("encrypted_content", sealed);
    }
    write_rest(&fields, object);
}

/// A call as its client declares the tool.
pub(super) struct WrittenCall<'c> {
    /// Pairs the call with its result.
    pub(super) call_id: &'c str,
    pub(super) name: &'c str,
    pub(super) namespace: Option<&'c str>,
    pub(super) is_custom: bool,
    /// The arguments, also of a custom tool.
    pub(super) arguments: &'c str,
}

impl WrittenCall<'_> {
    /// Writes the item.
    pub(super) fn write(
        &self,
        native: Option<&Native>,
        header: Option<ItemHeader<'_>>,
        object: &mut Object<'_>,
    ) {
        let fields: Vec<_> = native
            .into_iter()
            .flat_map(Native::fields)
            .filter(|(name, _)| *name != "field" && !name.starts_with("field."))
            .map(|(name, value)| (name, value.as_str()))
            .collect();
        let kind = if self.is_custom {
            CUSTOM_CALL
        } else {
            "function_call"
        };
        object.string("type", kind);
        write_header(&fields, header, object);
        object.string("call_id", self.call_id);
        object.string("name", self.name);
        if let Some(namespace) = self.namespace {
            object.string("namespace", namespace);
        }
        match self.is_custom {
            true => object.string("input", &unwrap_input(self.arguments)),
            false => object.string("arguments", self.arguments),
        }
        write_rest(&fields, object);
    }
}

/// The client's declaration of a called tool, from the call itself or from the request.
pub(super) fn declared_call(
    name: &str,
    native: Option<&Native>,
    echo: Option<&RequestEcho>,
) -> DeclaredTool {
    let plain = || DeclaredTool {
        name: name.to_owned(),
        namespace: None,
        is_custom: false,
    };
    let Some(native) = native else {
        let declared = echo.and_then(|echo| echo.tool(name));
        return declared.cloned().unwrap_or_else(plain);
    };
    DeclaredTool {
        name: text(native, "field.name").unwrap_or_else(|| name.to_owned()),
        namespace: text(native, "field.namespace"),
        is_custom: text(native, "field").is_some_and(|kind| kind == CUSTOM_CALL),
    }
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
