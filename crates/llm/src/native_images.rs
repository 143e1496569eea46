//! Images in fields that the contract does not model: in a system prompt, which holds only
//! text there, in the definition of a tool, in an unknown field of a message, or in a place
//! that no codec reads.
//!
//! Decoders declare them, as they do for [`Opaque`] blocks. They belong to no message, follow
//! all other images in the walk, and can be replaced with texts.

use crate::{ImageRef, Json, Native, Opaque, OpaqueImages, Part, Prompt};

impl Native {
    /// Declares the images of the field at this index.
    pub fn declare_images(&mut self, index: usize, images: OpaqueImages) {
        if let Some((name, value)) = self.fields.get(index) {
            let block = Opaque::new(self.dialect.clone(), name.as_str(), value.clone());
            let block = block.with_images(images);
            if !block.images().is_empty() {
                self.images.push((index, block));
            }
        }
    }

    fn replace_images(&mut self, text: &mut dyn FnMut() -> Option<String>) {
        for (index, block) in std::mem::take(&mut self.images) {
            let Some(replaced) = block.with_images_replaced(text) else {
                self.images.push((index, block));
                continue;
            };
            let value = if let Part::Opaque(rest) = replaced {
                let value = rest.raw.clone();
                if !rest.images().is_empty() {
                    self.images.push((index, rest));
                }
                value
            } else {
                block.text_value(replaced.as_text().unwrap_or_default())
            };
            if let Some((_, field)) = self.fields.get_mut(index) {
                *field = value;
            }
        }
    }
}

impl Opaque {
    /// A text in the block's dialect, as a JSON value.
    fn text_value(&self, text: &str) -> Json {
        self.text_block(text).unwrap_or_else(|| Json::string(text))
    }
}

impl Prompt {
    /// Calls `visit` for all fields that only the original dialect understands: of the system
    /// prompt, the messages and their parts, the tools and the request itself.
    pub fn visit_native_mut(&mut self, visit: &mut dyn FnMut(&mut Native)) {
        for text in &mut self.system {
            text.native.as_deref_mut().into_iter().for_each(&mut *visit);
        }
        for message in &mut self.messages {
            let native = message.native.as_deref_mut();
            native.into_iter().for_each(&mut *visit);
            for part in &mut message.parts {
                visit_part(part, visit);
            }
        }
        for tool in &mut self.tools {
            tool.native.as_deref_mut().into_iter().for_each(&mut *visit);
        }
        self.native.as_deref_mut().into_iter().for_each(&mut *visit);
    }

    /// The declared images of all these fields, of the hosted tools, and of places that no
    /// codec reads.
    pub(crate) fn native_images<'p>(&'p self) -> impl Iterator<Item = ImageRef<'p>> {
        let mut blocks: Vec<&'p Opaque> = Vec::new();
        let mut visit = |native: Option<&'p Native>| {
            let images = native.into_iter().flat_map(|native| &native.images);
            blocks.extend(images.map(|(_, block)| block));
        };
        for text in &self.system {
            visit(text.native.as_deref());
        }
        for message in &self.messages {
            visit(message.native.as_deref());
            visit_parts(&message.parts, &mut visit);
        }
        for tool in &self.tools {
            visit(tool.native.as_deref());
        }
        visit(self.native.as_deref());
        blocks.extend(&self.hosted_tools);
        blocks.extend(&self.unread_images);
        blocks.into_iter().flat_map(|block| {
            let indices = 0..block.images().len();
            indices.map(move |index| ImageRef::Opaque { block, index })
        })
    }

    /// Replaces the images outside the messages' parts with texts, in the order in which
    /// [`images`](Self::images) yields them last. An image for which `text` returns `None`
    /// stays.
    pub fn replace_native_images(&mut self, text: &mut dyn FnMut() -> Option<String>) {
        self.visit_native_mut(&mut |native| native.replace_images(text));
        self.hosted_tools.retain_mut(|tool| {
            let replaced = tool.with_images_replaced(text);
            // If no block is left, the whole field was an image.
            let keep = matches!(replaced, None | Some(Part::Opaque(_)));
            if let Some(Part::Opaque(rest)) = replaced {
                *tool = rest;
            }
            keep
        });
        // Places that no codec reads get no text.
        self.unread_images.retain(|_| text().is_none());
    }
}

fn visit_parts<'a>(parts: &'a [Part], visit: &mut dyn FnMut(Option<&'a Native>)) {
    for part in parts {
        visit(part.native());
        match part {
            Part::ToolResult(result) => visit_parts(&result.parts, visit),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::File(_)
            | Part::Opaque(_) => {}
        }
    }
}

fn visit_part(part: &mut Part, visit: &mut dyn FnMut(&mut Native)) {
    let native = match part {
        Part::Text(p) | Part::Refusal(p) => &mut p.native,
        Part::Image(p) => &mut p.native,
        Part::RemoteImage(p) => &mut p.native,
        Part::Reasoning(p) => &mut p.native,
        Part::ToolCall(p) => &mut p.native,
        Part::ToolResult(p) => {
            p.native.as_deref_mut().into_iter().for_each(&mut *visit);
            return p.parts.iter_mut().for_each(|part| visit_part(part, visit));
        }
        Part::File(p) => &mut p.native,
        Part::Opaque(_) => return,
    };
    native.as_deref_mut().into_iter().for_each(visit);
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::{Dialect, Request, Text, Tool};

    const DIALECT: Dialect = Dialect::new("x");

    /// A field `pictures` whose two elements are images.
    fn native() -> Option<Box<Native>> {
        let value = Json::parse("[1,2]").unwrap();
        let mut native = Native::new(DIALECT).with("pictures", value);
        native.declare_images(0, OpaqueImages::new(vec![1..2, 3..4], Some("text")));
        native.into_option()
    }

    fn request() -> Request {
        let mut request = Request::user("hi").part(Part::image("image/png", vec![1]));
        let prompt = request.edit();
        prompt.system.push(Text {
            text: String::new(),
            native: native(),
        });
        prompt.messages[0].native = native();
        prompt.tools.push(Tool {
            native: native(),
            ..Tool::new("look")
        });
        prompt.native = native();
        let tool = Opaque::new(DIALECT, "hosted", Json::parse("[7]").unwrap());
        let images = OpaqueImages::new(iter::once(1..2).collect(), Some("text"));
        prompt.hosted_tools.push(tool.with_images(images));
        request
    }

    #[test]
    fn images_in_unknown_fields_are_counted_and_follow_those_of_messages() {
        let request = request();
        let prompt = request.prompt();
        assert_eq!(prompt.image_count(), 10);
        assert_eq!(prompt.images().count(), 10);
        assert!(matches!(prompt.images().next(), Some(ImageRef::Inline(_))));
    }

    #[test]
    fn replacing_them_leaves_none_and_keeps_the_rest() {
        let mut request = request();
        let mut number = 0;
        request.edit().replace_native_images(&mut || {
            number += 1;
            Some(number.to_string())
        });
        assert_eq!(number, 9);
        let prompt = request.prompt();
        assert_eq!(prompt.image_count(), 1, "that of the message stays");
        let field = prompt.native.as_ref().unwrap().get("pictures").unwrap();
        let expected = r#"[{"type":"text","text":"7"},{"type":"text","text":"8"}]"#;
        assert_eq!(field.as_str(), expected);
        let hosted = prompt.hosted_tools[0].raw.as_str();
        assert_eq!(hosted, r#"[{"type":"text","text":"9"}]"#);
    }

    #[test]
    fn removing_a_field_keeps_the_images_of_the_others() {
        let mut request = request();
        let native = request.edit().native.as_mut().unwrap();
        native.fields.insert(0, ("first".into(), Json::string("1")));
        native.images[0].0 = 1;
        assert_eq!(native.remove("first").unwrap().as_str(), "\"1\"");
        assert!(native.remove("first").is_none());
        native.replace_images(&mut || Some("gone".into()));
        let value = native.get("pictures").unwrap().as_str();
        assert!(value.contains("gone"), "{value}");
        native.remove("pictures");
        assert!(native.is_empty() && native.images.is_empty());
    }

    #[test]
    fn a_field_that_is_an_image_becomes_a_text_of_its_dialect() {
        let mut native = Native::new(DIALECT).with("block", Json::parse("[1]").unwrap());
        native.declare_images(
            0,
            OpaqueImages::new(iter::once(0..3).collect(), Some("text")),
        );
        native.replace_images(&mut || Some("gone".into()));
        let value = native.get("block").unwrap().as_str();
        assert_eq!(value, r#"{"type":"text","text":"gone"}"#);
    }

    #[test]
    fn an_image_without_a_text_stays() {
        let mut request = request();
        request.edit().replace_native_images(&mut || None);
        assert_eq!(request.prompt().image_count(), 10);
    }
}
