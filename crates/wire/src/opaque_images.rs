//! Finds the images inside blocks that the contract does not model: an image given by file
//! id, a document made of blocks, a screenshot of a computer-use tool.
//!
//! A block is scanned once, when it is decoded, and nothing in it is decoded. Uses
//! `image_forms` and `json`.

use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use majordomo_llm::{Dialect, ImageRef, Json, Opaque, OpaqueImages, Part, Prompt};

use crate::image_forms::{BlockObject, FIELDS, may_hold_image};
use crate::json::keep;
use crate::json::objects::walk;

/// The blocks of a dialect that the contract does not model.
pub(crate) struct OpaqueBlocks {
    /// The dialect.
    pub(crate) origin: Dialect,
    /// The `type` of its text blocks; `None` if its blocks have no types.
    pub(crate) text_type: Option<&'static str>,
}

impl OpaqueBlocks {
    /// The block as a part, with its images.
    pub(crate) fn part(&self, kind: impl Into<String>, raw: &str) -> Part {
        self.part_of(kind, keep(raw))
    }

    /// Like [`part`](Self::part), for a text that is already stored.
    pub(crate) fn part_of(&self, kind: impl Into<String>, raw: Json) -> Part {
        let spans = find(raw.as_str());
        let block = Opaque::new(self.origin.clone(), kind, raw);
        Part::Opaque(block.with_images(OpaqueImages::new(spans, self.text_type)))
    }

    /// Declares the images in fields and hosted tools, which the contract does not model.
    pub(crate) fn declare(&self, prompt: &mut Prompt) {
        let images = |raw: &str| OpaqueImages::new(find(raw), self.text_type);
        prompt.visit_native_mut(&mut |native| {
            let fields = native.fields().enumerate();
            let held: Vec<usize> = fields
                .filter(|(_, (_, value))| may_hold_image(value.as_str()))
                .map(|(index, _)| index)
                .collect();
            for index in held {
                let value = native.fields().nth(index).map(|(_, value)| value.clone());
                if let Some(value) = value {
                    native.declare_images(index, images(value.as_str()));
                }
            }
        });
        for tool in &mut prompt.hosted_tools {
            if may_hold_image(tool.raw.as_str()) {
                let held = images(tool.raw.as_str());
                *tool = tool.clone().with_images(held);
            }
        }
    }

    /// Declares the images in parts of the body that no reader took.
    pub(crate) fn declare_unread(
        &self,
        prompt: &mut Prompt,
        body: &[u8],
        skipped: &[Range<usize>],
    ) {
        let mut unread = Vec::new();
        for range in skipped {
            let text = body.get(range.clone()).map(std::str::from_utf8);
            if let Some(Ok(text)) = text {
                unread.extend(find(text).into_iter().map(|span| &text[span]));
            }
        }
        if unread.is_empty() {
            return;
        }
        // A reader may inspect a block, and then keep it as a whole.
        let declared: HashSet<&str> = prompt.images().filter_map(declared_text).collect();
        unread.retain(|image| !declared.contains(image));
        for image in unread {
            let whole = iter::once(0..image.len()).collect();
            let block = Opaque::new(self.origin.clone(), "unread", keep(image));
            let block = block.with_images(OpaqueImages::new(whole, self.text_type));
            prompt.unread_images.push(block);
        }
    }
}

/// The spans of all images of a text, in order. An image inside an image belongs to the outer
/// one.
fn find(raw: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    if !may_hold_image(raw) {
        return found;
    }
    walk(raw, &FIELDS, |object| {
        let object = BlockObject(object);
        if object.is_image() {
            let span = object.0.span;
            while found.last().is_some_and(|inner| inner.start > span.start) {
                found.pop();
            }
            found.push(span);
        }
    });
    found
}

/// The text of an image that is declared in a block.
fn declared_text(image: ImageRef<'_>) -> Option<&str> {
    match image {
        ImageRef::Opaque { block, index } => {
            let span = block.images().get(index)?;
            block.raw.as_str().get(span.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(raw: &str) -> Vec<&str> {
        let found = find(raw).into_iter();
        found.filter_map(|span| raw.get(span)).collect()
    }

    #[test]
    fn an_image_inside_an_image_belongs_to_the_outer_one() {
        let inner = r#"{"type":"image"}"#;
        let outer = format!(r#"{{"a":[{inner},{inner}],"type":"image"}}"#);
        let raw = format!(r#"[{inner},{{"b":{outer}}},{inner}]"#);
        let found = spans(&raw);
        assert_eq!(found, [inner, &outer, inner]);
    }

    #[test]
    fn an_escaped_type_is_found() {
        let raw = r#"{"x":{"\u0074ype":"im\u0061ge"}}"#;
        assert_eq!(spans(raw).len(), 1);
    }

    #[test]
    fn images_are_found_at_any_depth() {
        let raw = format!(
            r#"{}{{"type":"image"}}{}"#,
            "[".repeat(100),
            "]".repeat(100)
        );
        assert_eq!(spans(&raw).len(), 1);
    }
}
