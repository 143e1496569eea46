//! Writes the content of a message, block by block.

use bytes::{BufMut, BytesMut};
use majordomo_llm::{File, Native, Part, Reasoning, ToolCall, ToolResult};

use super::MESSAGES;
use super::read_part::PLAIN_TEXT;
use crate::base64::encode_into;
use crate::json::{Array, Object, is_complete, write_array};
use crate::loss::Losses;

/// Where a block stands, which decides what it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    User,
    Assistant,
    System,
    /// Inside a tool's answer.
    Tool,
    /// What a client gets.
    Answer,
}

/// Native fields at this level, without those that only say how to write.
pub(super) fn write_native(object: &mut Object<'_>, native: Option<&Native>) {
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !matches!(name, "role" | "field") {
            object.raw(name, value.as_str());
        }
    }
}

/// Whether a part can stand here; if not, it is noted as lost.
pub(super) fn fits(part: &Part, place: Place, losses: &mut Losses) -> bool {
    let own = |native: Option<&Native>| native.is_none_or(|n| *n.dialect() == MESSAGES);
    let from_user = matches!(place, Place::User | Place::Tool);
    let from_model = matches!(place, Place::Assistant | Place::Answer);
    let fits = match part {
        Part::Text(text) if text.text.is_empty() => {
            losses.own(text.native.as_deref(), &MESSAGES);
            return false;
        }
        Part::Text(_) if place == Place::Answer => return true,
        Part::Text(text) => {
            let blank = text.text.trim().is_empty();
            if blank {
                losses.add("text", "text that is only white space is refused");
            }
            return !blank;
        }
        Part::Refusal(text) if from_model => return !text.text.trim().is_empty(),
        Part::Reasoning(_) if place == Place::Answer => true,
        Part::Reasoning(reasoning) if place == Place::Assistant => {
            if losses.own(reasoning.native.as_deref(), &MESSAGES).is_some() {
                return true;
            }
            losses.add("reasoning", "only the model that thought it can read it");
            return false;
        }
        Part::Image(_) => from_user,
        Part::RemoteImage(image) => from_user && image.url.starts_with("http"),
        Part::File(file) => from_user && own(file.native.as_deref()),
        Part::ToolCall(_) => from_model,
        Part::ToolResult(_) => place == Place::User,
        Part::Opaque(block) => block.origin == MESSAGES,
        Part::Refusal(_) | Part::Reasoning(_) => false,
    };
    if !fits {
        losses.own(part.native(), &MESSAGES);
        losses.part(part, "Messages has no such content here");
    }
    fits
}

/// Writes a part that fits here. Calls and results have writers of their own,
/// since somebody must know their ids.
pub(super) fn write_part(part: &Part, array: &mut Array<'_>, losses: &mut Losses) {
    let native = losses.own(part.native(), &MESSAGES);
    match part {
        Part::Text(text) => array.object(|o| {
            o.string("type", "text");
            o.string("text", &text.text);
            write_native(o, native);
        }),
        Part::Refusal(text) => {
            losses.add("refusal", "written as text");
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
        Part::ToolCall(call) => array.object(|o| write_call(call, &call.id, o, losses)),
        Part::ToolResult(result) => {
            array.object(|o| write_result(result, &result.call_id, o, losses));
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

/// A client is shown reasoning of every origin; without its signature it is
/// only for reading.
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

/// Thought that only its provider can read has data instead of text.
pub(super) fn is_redacted(native: &Native) -> bool {
    native.get("data").is_some()
}

/// A call under the id that was given to it.
pub(super) fn write_call(call: &ToolCall, id: &str, object: &mut Object<'_>, losses: &mut Losses) {
    let native = losses.own(call.native.as_deref(), &MESSAGES);
    object.string("type", "tool_use");
    object.string("id", id);
    object.string("name", &call.name);
    write_input(&call.arguments, object.value("input"), losses);
    write_native(object, native);
}

/// The input must be an object; whatever else a model wrote is kept as text.
fn write_input(arguments: &str, out: &mut BytesMut, losses: &mut Losses) {
    let text = arguments.trim();
    if text.is_empty() {
        return out.extend_from_slice(b"{}");
    }
    if text.starts_with('{') && is_complete(text) {
        return out.extend_from_slice(text.as_bytes());
    }
    losses.add(
        "arguments",
        "they are no JSON object and are written as its text",
    );
    crate::json::object(out, |o| o.string("arguments", arguments));
}

/// A tool's answer to the call of this id.
pub(super) fn write_result(
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

/// The parts that can stand in a tool's answer.
pub(super) fn fitting<'p>(parts: &'p [Part], losses: &mut Losses) -> Vec<&'p Part> {
    let fit = parts.iter().filter(|part| fits(part, Place::Tool, losses));
    fit.collect()
}
