//! Writes the content of a message, block by block.

use bytes::BufMut;
use majordomo_llm::{File, Json, Native, Part, Reasoning, ToolCall, ToolResult};

use super::MESSAGES;
use super::read_part::PLAIN_TEXT;
use crate::arguments::object_arguments;
use crate::base64::encode_into;
use crate::json::{Array, Object, write_array};
use crate::loss::{LossVerb, Losses};
use crate::sealed_state::seal_reasoning;

/// The position of a block, which determines the allowed kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPosition {
    User,
    Assistant,
    System,
    /// Inside a tool result.
    Tool,
    /// In a response to a client.
    Response,
}

/// Writes the native fields of this level, without those that only direct the
/// writer.
pub(super) fn write_native(object: &mut Object<'_>, native: Option<&Native>) {
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !matches!(name, "role" | "field") {
            object.raw(name, value.as_str());
        }
    }
}

/// Whether a part is allowed here; if not, records a loss.
pub(super) fn fits(part: &Part, position: BlockPosition, losses: &mut Losses) -> bool {
    let own = |native: Option<&Native>| native.is_none_or(|n| *n.dialect() == MESSAGES);
    let from_user = matches!(position, BlockPosition::User | BlockPosition::Tool);
    let from_model = matches!(position, BlockPosition::Assistant | BlockPosition::Response);
    let fits = match part {
        Part::Text(text) if text.text.is_empty() => {
            losses.own(text.native.as_deref(), &MESSAGES);
            return false;
        }
        Part::Text(_) if position == BlockPosition::Response => return true,
        Part::Text(text) => {
            let blank = text.text.trim().is_empty();
            if blank {
                losses.add("text", "blank text is rejected");
            }
            return !blank;
        }
        Part::Refusal(text) if from_model => return !text.text.trim().is_empty(),
        Part::Reasoning(_) if position == BlockPosition::Response => true,
        Part::Reasoning(reasoning) if position == BlockPosition::Assistant => {
            if losses.own(reasoning.native.as_deref(), &MESSAGES).is_some() {
                return true;
            }
            losses.add("reasoning", "only the model that produced it can read it");
            return false;
        }
        Part::Image(_) => from_user,
        Part::RemoteImage(image) => from_user && image.url.starts_with("http"),
        Part::File(file) => from_user && own(file.native.as_deref()),
        Part::ToolCall(_) => from_model,
        Part::ToolResult(_) => position == BlockPosition::User,
        Part::Opaque(block) => block.origin == MESSAGES,
        Part::Refusal(_) | Part::Reasoning(_) => false,
    };
    if !fits {
        losses.own(part.native(), &MESSAGES);
        losses.part(part, "Messages has no such content here");
    }
    fits
}

/// Writes a part that is allowed here. Calls and results have separate writers,
/// which need the assigned ids.
pub(super) fn write_part(part: &Part, array: &mut Array<'_>, losses: &mut Losses) {
    let native = losses.own(part.native(), &MESSAGES);
    match part {
        Part::Text(text) => array.object(|o| {
            o.string("type", "text");
            o.string("text", &text.text);
            write_native(o, native);
        }),
        Part::Refusal(text) => {
            losses.record(LossVerb::Converted, "refusal", "written as text");
            array.object(|o| {
                o.string("type", "text");
                o.string("text", &text.text);
            });
        }
        Part::Image(image) => array.object(|o| {
            o.string("type", "image");
            o.object("source", |o| {
                write_base64(&image.media_type, &image.data, o);
                o.nested(native, "source");
            });
            write_native(o, native);
        }),
        Part::RemoteImage(image) => array.object(|o| {
            o.string("type", "image");
            o.object("source", |o| {
                o.string("type", "url");
                o.string("url", &image.url);
                o.nested(native, "source");
            });
            write_native(o, native);
        }),
        Part::File(file) => array.object(|o| write_document(file, native, o)),
        Part::Reasoning(reasoning) => array.object(|o| write_thinking(reasoning, native, o)),
        Part::Opaque(block) => array.raw(block.raw.as_str()),
        Part::ToolCall(call) => array.object(|o| write_tool_use(call, &call.id, o, losses)),
        Part::ToolResult(result) => {
            array.object(|o| write_tool_result(result, &result.call_id, o, losses));
        }
    }
}

fn write_base64(media_type: &str, data: &[u8], object: &mut Object<'_>) {
    object.string("type", "base64");
    object.string("media_type", media_type);
    let out = object.value("data");
    out.put_u8(b'"');
    encode_into(data, out);
    out.put_u8(b'"');
}

fn write_document(file: &File, native: Option<&Native>, object: &mut Object<'_>) {
    object.string("type", "document");
    object.object("source", |o| {
        match std::str::from_utf8(&file.data) {
            Ok(text) if file.media_type == PLAIN_TEXT => {
                o.string("type", "text");
                o.string("media_type", PLAIN_TEXT);
                o.string("data", text);
            }
            _ => write_base64(&file.media_type, &file.data, o),
        }
        o.nested(native, "source");
    });
    if let Some(name) = &file.name {
        object.string("title", name);
    }
    write_native(object, native);
}

/// Writes a thinking block. Clients see reasoning of every origin; without a
/// signature it is display-only.
pub(super) fn write_thinking(
    reasoning: &Reasoning,
    native: Option<&Native>,
    object: &mut Object<'_>,
) {
    if native.is_some_and(is_redacted) {
        object.string("type", "redacted_thinking");
    } else {
        object.string("type", "thinking");
        object.string("thinking", &reasoning.text);
    }
    if native.is_none() {
        object.string("signature", "");
    }
    write_native(object, native);
}

/// Seals state of another dialect: as a signature, or as data if there is no text.
pub(super) fn seal_state(
    text: &str,
    native: Option<&Native>,
    losses: &mut Losses,
) -> Option<Box<Native>> {
    let sealed = seal_reasoning(text, native, &MESSAGES, losses)?;
    let name = if text.is_empty() { "data" } else { "signature" };
    Native::new(MESSAGES)
        .with(name, Json::string(&sealed))
        .into_option()
}

/// Writes a block with the state of the call that follows.
pub(super) fn write_sealed(sealed: &str, object: &mut Object<'_>) {
    object.string("type", "redacted_thinking");
    object.string("data", sealed);
}

/// Redacted thinking, readable only by its provider, has data instead of text.
pub(super) fn is_redacted(native: &Native) -> bool {
    native.get("data").is_some()
}

/// Writes a call under its assigned id.
pub(super) fn write_tool_use(
    call: &ToolCall,
    id: &str,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let native = losses.own(call.native.as_deref(), &MESSAGES);
    object.string("type", "tool_use");
    object.string("id", id);
    object.string("name", &call.name);
    object.raw("input", &object_arguments(&call.arguments, losses));
    write_native(object, native);
}

/// Writes the result of the call with this id.
pub(super) fn write_tool_result(
    result: &ToolResult,
    id: &str,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let native = losses.own(result.native.as_deref(), &MESSAGES);
    object.string("type", "tool_result");
    object.string("tool_use_id", id);
    let parts = fitting(&result.parts, losses);
    match &parts[..] {
        [] => object.string("content", ""),
        [Part::Text(text)] if losses.own(text.native.as_deref(), &MESSAGES).is_none() => {
            object.string("content", &text.text);
        }
        parts => write_array(object.value("content"), |array| {
            for part in parts {
                write_part(part, array, losses);
            }
        }),
    }
    if result.is_error {
        object.bool("is_error", true);
    }
    write_native(object, native);
}

/// The parts that are allowed in a tool result.
pub(super) fn fitting<'p>(parts: &'p [Part], losses: &mut Losses) -> Vec<&'p Part> {
    let fit = parts
        .iter()
        .filter(|part| fits(part, BlockPosition::Tool, losses));
    fit.collect()
}
