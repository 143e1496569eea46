//! Writes the content of a message or of a tool output, block by block.

use majordomo_llm::{Native, Part};

use super::RESPONSES;
use crate::base64::write_data_url;
use crate::json::{Array, Object};
use crate::loss::Losses;

/// The author of a block; the model's blocks have different types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentSide {
    Input,
    /// The model's output, as part of a request.
    Output,
    /// The model's output, in a response to a client.
    Response,
}

impl ContentSide {
    pub(super) fn can_hold(self, part: &Part) -> bool {
        match part {
            Part::Text(_) => true,
            Part::Refusal(_) => self != Self::Input,
            Part::Image(_) | Part::RemoteImage(_) => self == Self::Input,
            // A file of another dialect is left to that dialect.
            Part::File(file) => {
                let native = file.native.as_ref();
                self == Self::Input && native.is_none_or(|n| *n.dialect() == RESPONSES)
            }
            Part::Opaque(block) => is_content(part) && block.origin == RESPONSES,
            Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => false,
        }
    }
}

/// Whether a part belongs inside a message; all others are items.
pub(super) fn is_content(part: &Part) -> bool {
    match part {
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::File(_) => true,
        Part::Opaque(block) => block.kind.starts_with("content."),
        Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => false,
    }
}

/// The parts that can be written; records the others as losses.
pub(super) fn writable<'p>(
    parts: impl IntoIterator<Item = &'p Part>,
    side: ContentSide,
    losses: &mut Losses,
) -> Vec<&'p Part> {
    let mut kept = Vec::new();
    for part in parts {
        match side.can_hold(part) {
            true => kept.push(part),
            false => losses.part(part, "Responses has no such content here"),
        }
    }
    kept
}

/// Writes a single plain text as a string, everything else as a list.
pub(super) fn write_content(
    object: &mut Object<'_>,
    key: &str,
    parts: &[&Part],
    side: ContentSide,
    losses: &mut Losses,
) {
    match parts {
        [] => object.string(key, ""),
        [Part::Text(text)] if is_plain(losses.own(text.native.as_deref(), &RESPONSES)) => {
            object.string(key, &text.text);
        }
        parts => object.array(key, |array| {
            for part in parts {
                write_part(part, side, array, losses);
            }
        }),
    }
}

/// Whether a text has no native fields at this level.
fn is_plain(native: Option<&Native>) -> bool {
    native.is_none_or(|native| native.fields().all(|(name, _)| name.contains('.')))
}

/// Writes one block, or records a loss.
pub(super) fn write_part(
    part: &Part,
    side: ContentSide,
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    if !side.can_hold(part) {
        return losses.part(part, "Responses has no such content here");
    }
    match part {
        Part::Opaque(block) => array.raw(block.raw.as_str()),
        part @ (Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)) => {
            let native = losses.own(part.native(), &RESPONSES);
            array.object(|o| write_block(part, side, native, o));
        }
    }
}

/// Writes the fields of a block.
pub(super) fn write_block(
    part: &Part,
    side: ContentSide,
    native: Option<&Native>,
    object: &mut Object<'_>,
) {
    match part {
        Part::Text(text) if side != ContentSide::Input => {
            object.string("type", "output_text");
            object.string("text", &text.text);
            // OpenAI's schema requires these, even if they are empty.
            let required: &[&str] = match side {
                ContentSide::Response => &["annotations", "logprobs"],
                _ => &["annotations"],
            };
            for list in required {
                if native.is_none_or(|native| native.get(list).is_none()) {
                    object.raw(list, "[]");
                }
            }
        }
        Part::Text(text) => {
            object.string("type", "input_text");
            object.string("text", &text.text);
        }
        Part::Refusal(text) => {
            object.string("type", "refusal");
            object.string("refusal", &text.text);
        }
        Part::Image(image) => {
            object.string("type", "input_image");
            write_data_url(&image.media_type, &image.data, object.value("image_url"));
        }
        Part::RemoteImage(image) => {
            object.string("type", "input_image");
            object.string("image_url", &image.url);
        }
        Part::File(file) => {
            object.string("type", "input_file");
            if let Some(name) = &file.name {
                object.string("filename", name);
            }
            write_data_url(&file.media_type, &file.data, object.value("file_data"));
        }
        Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Opaque(_) => {}
    }
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        // A dot marks a field of the item; `field` only directs the writer.
        if !name.contains('.') && name != "field" {
            object.raw(name, value.as_str());
        }
    }
}
