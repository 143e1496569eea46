//! Writes one part of a content.

use majordomo_llm::{Native, Part, RemoteImage, ToolCall};

use super::GEMINI;
use super::read_part::image_media_type;
use crate::arguments::object_arguments;
use crate::base64::encode_into;
use crate::json::{Array, Object};
use crate::loss::{LossVerb, Losses};

/// Writes the native fields of this level, except those that only steer the
/// writer.
pub(super) fn write_native(object: &mut Object<'_>, native: Option<&Native>) {
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !matches!(name, "role" | "field" | "parts") {
            object.raw(name, value.as_str());
        }
    }
}

/// Returns the form a value was read from.
pub(super) fn native_field(native: &Native) -> Option<String> {
    native.get("field").and_then(|field| field.to().ok())
}

/// Whether a part was read from another dialect.
pub(super) fn is_foreign(part: &Part) -> bool {
    part.native()
        .is_some_and(|native| *native.dialect() != GEMINI)
}

/// Writes a part other than a tool call or result, which need the conversation as
/// context.
pub(super) fn write_part(part: &Part, array: &mut Array<'_>, losses: &mut Losses) {
    match part {
        Part::Text(text) => {
            let native = losses.own(part.native(), &GEMINI);
            array.object(|o| {
                o.string("text", &text.text);
                write_native(o, native);
            });
        }
        Part::Refusal(text) => {
            losses.own(part.native(), &GEMINI);
            losses.record(LossVerb::Converted, "refusal", "written as text");
            array.object(|o| o.string("text", &text.text));
        }
        Part::Reasoning(reasoning) => match losses.own(part.native(), &GEMINI) {
            None => losses.add("reasoning", "only the model that produced it can read it"),
            native => array.object(|o| write_thought(&reasoning.text, native, o)),
        },
        Part::Image(_) => array.object(|o| write_inline_data(part, o, losses)),
        Part::RemoteImage(link) => array.object(|o| write_file_data(link, o, losses)),
        Part::File(_) if is_foreign(part) => {
            losses.part(part, "only its own dialect can read it");
        }
        Part::File(_) => array.object(|o| write_inline_data(part, o, losses)),
        Part::Opaque(block) if block.origin == GEMINI => array.raw(block.raw.as_str()),
        other @ (Part::ToolCall(_) | Part::ToolResult(_) | Part::Opaque(_)) => {
            losses.part(other, "Gemini has no such part")
        }
    }
}

/// Writes the fields of a thought.
pub(super) fn write_thought(text: &str, native: Option<&Native>, object: &mut Object<'_>) {
    object.string("text", text);
    object.bool("thought", true);
    write_native(object, native);
}

/// Writes the fields of an image or file as `inlineData`.
pub(super) fn write_inline_data(part: &Part, object: &mut Object<'_>, losses: &mut Losses) {
    let (media_type, data, name) = match part {
        Part::Image(image) => (&image.media_type, &*image.data, None),
        Part::File(file) => (&file.media_type, &file.data, file.name.as_deref()),
        Part::Text(_)
        | Part::Refusal(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::Opaque(_) => return,
    };
    let native = losses.own(part.native(), &GEMINI);
    object.object("inlineData", |o| {
        o.string("mimeType", media_type);
        let out = o.value("data");
        out.extend_from_slice(b"\"");
        encode_into(data, out);
        out.extend_from_slice(b"\"");
        if let Some(name) = name {
            o.string("displayName", name);
        }
        o.nested(native, "inlineData");
    });
    write_native(object, native);
}

/// Writes the fields of an image URL as `fileData`.
pub(super) fn write_file_data(link: &RemoteImage, object: &mut Object<'_>, losses: &mut Losses) {
    let native = losses.own(link.native.as_deref(), &GEMINI);
    object.object("fileData", |o| {
        if native.is_none_or(|native| native.get("fileData.mimeType").is_none()) {
            o.string("mimeType", image_media_type(&link.url));
        }
        o.string("fileUri", &link.url);
        o.nested(native, "fileData");
    });
    write_native(object, native);
}

/// Writes the fields of a `functionCall`. `placeholder` is the signature to write
/// if it has none.
pub(super) fn write_function_call(
    call: &ToolCall,
    id: Option<&str>,
    placeholder: Option<&str>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let native = losses.own(call.native.as_deref(), &GEMINI);
    object.object("functionCall", |o| {
        if let Some(id) = id {
            o.string("id", id);
        }
        o.string("name", &call.name);
        o.raw("args", &object_arguments(&call.arguments, losses));
        o.nested(native, "functionCall");
    });
    write_native(object, native);
    let signed = native.is_some_and(|native| native.get("thoughtSignature").is_some());
    if let (false, Some(placeholder)) = (signed, placeholder) {
        object.string("thoughtSignature", placeholder);
    }
}
