//! Writes `content` and its parts.

use majordomo_llm::{Native, Part};

use super::CHAT;
use crate::base64::write_data_url;
use crate::json::{Array, Object, write_array, write_string};
use crate::loss::Losses;

/// Writes the native fields of this level, except those that only steer the
/// writer.
pub(super) fn write_native(object: &mut Object<'_>, native: Option<&Native>) {
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !matches!(name, "role" | "field" | "content") {
            object.raw(name, value.as_str());
        }
    }
}

/// Returns the elements of a JSON array, without its brackets.
pub(super) fn list_elements(list: &str) -> &str {
    let inner = list
        .trim()
        .strip_prefix('[')
        .and_then(|l| l.strip_suffix(']'));
    inner.unwrap_or_default().trim()
}

/// Returns the key a value was read from.
pub(super) fn native_field(native: &Native) -> Option<String> {
    native.get("field").and_then(|field| field.to().ok())
}

/// Writes `content`: a string for a single plain text, an array otherwise. Empty
/// content is written as the client wrote it.
pub(super) fn write_content(
    object: &mut Object<'_>,
    parts: &[&Part],
    native: Option<&Native>,
    losses: &mut Losses,
) {
    match parts {
        [] => match native.and_then(|native| native.get("content")) {
            Some(empty) => object.raw("content", empty.as_str()),
            None => object.string("content", ""),
        },
        [Part::Text(text)] if losses.own(text.native.as_deref(), &CHAT).is_none() => {
            object.string("content", &text.text);
        }
        parts => {
            let out = object.value("content");
            let start = out.len();
            write_array(out, |array| {
                for part in parts {
                    write_part(part, array, losses);
                }
            });
            // Every part was lost, and servers reject an empty array.
            if &out[start..] == b"[]" {
                out.truncate(start);
                write_string(out, "");
            }
        }
    }
}

/// Writes one element of a `content` array.
pub(super) fn write_part(part: &Part, array: &mut Array<'_>, losses: &mut Losses) {
    let native = losses.own(part.native(), &CHAT);
    match part {
        Part::Text(text) => array.object(|o| {
            o.string("type", "text");
            o.string("text", &text.text);
            write_native(o, native);
        }),
        Part::Refusal(text) => array.object(|o| {
            o.string("type", "refusal");
            o.string("refusal", &text.text);
            write_native(o, native);
        }),
        Part::Image(image) => array.object(|o| {
            o.string("type", "image_url");
            o.object("image_url", |o| {
                write_data_url(&image.media_type, &image.data, o.value("url"));
                o.nested(native, "image_url");
            });
            write_native(o, native);
        }),
        Part::RemoteImage(image) => array.object(|o| {
            o.string("type", "image_url");
            o.object("image_url", |o| {
                o.string("url", &image.url);
                o.nested(native, "image_url");
            });
            write_native(o, native);
        }),
        Part::File(file) if file.native.is_none() || native.is_some() => array.object(|o| {
            o.string("type", "file");
            o.object("file", |o| {
                write_data_url(&file.media_type, &file.data, o.value("file_data"));
                if let Some(name) = &file.name {
                    o.string("filename", name);
                }
                o.nested(native, "file");
            });
            write_native(o, native);
        }),
        Part::Reasoning(reasoning)
            if native.and_then(native_field).as_deref() == Some("thinking") =>
        {
            array.object(|o| {
                o.string("type", "thinking");
                o.array("thinking", |a| {
                    a.object(|o| {
                        o.string("type", "text");
                        o.string("text", &reasoning.text);
                    });
                });
                write_native(o, native);
            });
        }
        Part::Opaque(block) if block.origin == CHAT => array.raw(block.raw.as_str()),
        other @ (Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_)) => losses.part(other, "Chat Completions has no such content part"),
    }
}
