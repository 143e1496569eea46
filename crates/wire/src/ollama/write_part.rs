//! Collects the content of a message: one text and its images.

use majordomo_llm::{Native, Part};

use super::{OLLAMA, image};
use crate::json::Object;
use crate::loss::{LossVerb, Losses};

/// The text and the images of a message.
pub(super) struct OllamaContent<'p> {
    pub(super) text: String,
    pub(super) images: Vec<&'p Part>,
}

impl<'p> OllamaContent<'p> {
    /// Collects parts; texts are joined with `separator`.
    pub(super) fn collect(
        parts: impl IntoIterator<Item = &'p Part>,
        separator: &str,
        losses: &mut Losses,
    ) -> Self {
        let mut content = Self {
            text: String::new(),
            images: Vec::new(),
        };
        for part in parts {
            losses.own(part.native(), &OLLAMA);
            match part {
                Part::Text(text) => content.push_text(&text.text, separator, losses),
                Part::Refusal(text) => {
                    losses.record(LossVerb::Converted, "refusal", "written as text");
                    content.push_text(&text.text, separator, losses);
                }
                part if image::belongs(part) => content.push_image(part, losses),
                Part::RemoteImage(_) => losses.part(part, "Ollama takes images only as base64"),
                other @ (Part::Image(_)
                | Part::Reasoning(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_)) => {
                    losses.part(other, "Ollama messages hold text and images only")
                }
            }
        }
        content
    }

    fn push_text(&mut self, text: &str, separator: &str, losses: &mut Losses) {
        if text.is_empty() {
            return;
        }
        if !self.images.is_empty() {
            losses.record(
                LossVerb::Changed,
                "order",
                "images are separate from the text",
            );
        }
        if !self.text.is_empty() {
            self.text.push_str(separator);
        }
        self.text.push_str(text);
    }

    fn push_image(&mut self, part: &'p Part, losses: &mut Losses) {
        if let Part::Image(image) = part {
            let sniffed = image::sniff(&image.data);
            if !sniffed.is_some_and(|sniffed| image.media_type.eq_ignore_ascii_case(sniffed)) {
                losses.add(
                    "media_type",
                    "Ollama detects the type of an image from its bytes",
                );
            }
        }
        self.images.push(part);
    }

    /// Writes `images`, if there are any.
    pub(super) fn write_images(&self, object: &mut Object<'_>) {
        if self.images.is_empty() {
            return;
        }
        object.array("images", |array| {
            for image in &self.images {
                image::write(image, array);
            }
        });
    }
}

/// Writes the native fields of this level, except `role` and `field`, which only
/// steer the writer.
pub(super) fn write_native(object: &mut Object<'_>, native: Option<&Native>) {
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !matches!(name, "role" | "field") {
            object.raw(name, value.as_str());
        }
    }
}
