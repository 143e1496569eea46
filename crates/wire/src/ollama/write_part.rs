//! Content: one text, and pictures beside it.

use majordomo_llm::{Native, Part};

use super::{OLLAMA, image};
use crate::json::Object;
use crate::loss::Losses;

/// What a message says.
pub(super) struct Content<'p> {
    pub(super) text: String,
    pub(super) pictures: Vec<&'p Part>,
}

impl<'p> Content<'p> {
    /// Gathers the parts; texts are joined by `between`.
    pub(super) fn of(
        parts: impl IntoIterator<Item = &'p Part>,
        between: &str,
        losses: &mut Losses,
    ) -> Self {
        let mut content = Self {
            text: String::new(),
            pictures: Vec::new(),
        };
        for part in parts {
            losses.own(part.native(), &OLLAMA);
            match part {
                Part::Text(text) => content.say(&text.text, between, losses),
                Part::Refusal(text) => {
                    losses.add("refusal", "written as text");
                    content.say(&text.text, between, losses);
                }
                part if image::belongs(part) => content.show(part, losses),
                Part::RemoteImage(_) => losses.part(part, "Ollama takes pictures only as bytes"),
                other => losses.part(other, "Ollama knows text and pictures only"),
            }
        }
        content
    }

    fn say(&mut self, text: &str, between: &str, losses: &mut Losses) {
        if text.is_empty() {
            return;
        }
        if !self.pictures.is_empty() {
            losses.add("order", "pictures stand beside the text, not inside it");
        }
        if !self.text.is_empty() {
            self.text.push_str(between);
        }
        self.text.push_str(text);
    }

    fn show(&mut self, part: &'p Part, losses: &mut Losses) {
        if let Part::Image(picture) = part {
            let told = image::sniff(&picture.data);
            if !told.is_some_and(|told| picture.media_type.eq_ignore_ascii_case(told)) {
                losses.add("media_type", "a picture's type is told by its bytes");
            }
        }
        self.pictures.push(part);
    }

    /// Writes the list of pictures, if there are some.
    pub(super) fn write_pictures(&self, object: &mut Object<'_>) {
        if self.pictures.is_empty() {
            return;
        }
        object.array("images", |array| {
            for picture in &self.pictures {
                image::write(picture, array);
            }
        });
    }
}

/// Native fields at this level, without those that only say how to write.
pub(super) fn write_native(object: &mut Object<'_>, native: Option<&Native>) {
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !matches!(name, "role" | "field") {
            object.raw(name, value.as_str());
        }
    }
}
