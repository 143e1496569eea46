//! Blocks that only one dialect understands.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Dialect, Json, Part};

/// A block that only its original dialect understands, such as a server tool or audio.
///
/// Its decoder lists the images inside ([`OpaqueImages`]), so that they are counted and
/// replaced like all other images.
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Opaque {
    /// The dialect that created the block.
    pub origin: Dialect,
    /// The block's type name, used to report its loss.
    pub kind: String,
    /// The block, verbatim.
    pub raw: Json,
    /// Boxed, since almost no block has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    images: Option<Box<OpaqueImages>>,
}

/// Where the images of an [`Opaque`] block are, and how its dialect writes a text.
///
/// ```
/// use majordomo_llm::{Dialect, Json, Opaque, OpaqueImages};
///
/// let raw = Json::parse(r#"{"blocks":[{"image":1}]}"#).unwrap();
/// let images = OpaqueImages::new(vec![11..22], Some("text"));
/// let block = Opaque::new(Dialect::new("x"), "document", raw).with_images(images);
/// assert_eq!(block.images().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct OpaqueImages {
    spans: Vec<Range<usize>>,
    text_type: Option<Cow<'static, str>>,
}

impl OpaqueImages {
    /// The spans of the images in the block's text, in order and without overlap.
    /// `text_type` is the `type` of a text block of the dialect; `None` if its blocks have
    /// no types.
    pub fn new(spans: Vec<Range<usize>>, text_type: Option<&'static str>) -> Self {
        Self {
            spans,
            text_type: text_type.map(Cow::Borrowed),
        }
    }

    /// Appends a text block.
    fn write_text(&self, text: &str, out: &mut String) {
        out.push('{');
        if let Some(name) = &self.text_type {
            out.push_str("\"type\":");
            out.push_str(Json::string(name).as_str());
            out.push(',');
        }
        out.push_str("\"text\":");
        out.push_str(Json::string(text).as_str());
        out.push('}');
    }
}

impl Opaque {
    /// Creates a block without images.
    pub fn new(origin: Dialect, kind: impl Into<String>, raw: Json) -> Self {
        Self {
            origin,
            kind: kind.into(),
            raw,
            images: None,
        }
    }

    /// Declares the images of the block.
    #[must_use]
    pub fn with_images(mut self, images: OpaqueImages) -> Self {
        self.images = (!images.spans.is_empty()).then(|| Box::new(images));
        self
    }

    /// Returns the spans of the images in `raw`, in order.
    pub fn images(&self) -> &[Range<usize>] {
        self.images.as_ref().map_or(&[], |images| &images.spans)
    }

    /// A text block of the dialect; `None` if the block declares no images.
    pub(crate) fn text_block(&self, text: &str) -> Option<Json> {
        let mut out = String::new();
        self.images.as_ref()?.write_text(text, &mut out);
        Json::parse(out).ok()
    }

    /// The block with its images replaced; `None` if none is.
    pub(crate) fn with_images_replaced(
        &self,
        text: &mut dyn FnMut() -> Option<String>,
    ) -> Option<Part> {
        let images = self.images.as_ref()?;
        let texts: Vec<Option<String>> = images.spans.iter().map(|_| text()).collect();
        if texts.iter().all(Option::is_none) {
            return None;
        }
        let rewritten = self.rewritten(images, &texts);
        // The spans do not match the text: lose the block rather than keep an image.
        let whole = || {
            Part::text(
                texts
                    .iter()
                    .flatten()
                    .cloned()
                    .collect::<Vec<_>>()
                    .join("\n"),
            )
        };
        Some(rewritten.unwrap_or_else(whole))
    }

    fn rewritten(&self, images: &OpaqueImages, texts: &[Option<String>]) -> Option<Part> {
        let raw = self.raw.as_str();
        if let ([span], [Some(text)]) = (&*images.spans, texts)
            && raw.get(span.clone())?.len() == raw.trim().len()
        {
            return Some(Part::text(text.as_str()));
        }
        let mut out = String::with_capacity(raw.len());
        let mut left = Vec::new();
        let mut copied = 0;
        for (span, text) in images.spans.iter().zip(texts) {
            out.push_str(raw.get(copied..span.start)?);
            match text {
                Some(text) => images.write_text(text, &mut out),
                None => {
                    let start = out.len();
                    out.push_str(raw.get(span.clone())?);
                    left.push(start..out.len());
                }
            }
            copied = span.end;
        }
        out.push_str(raw.get(copied..)?);
        let raw = Json::parse(out).ok()?;
        let images = OpaqueImages {
            spans: left,
            text_type: images.text_type.clone(),
        };
        let block = Self::new(self.origin.clone(), self.kind.as_str(), raw);
        Some(Part::Opaque(block.with_images(images)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect = Dialect::new("x");

    fn one(span: Range<usize>) -> Vec<Range<usize>> {
        vec![span]
    }

    #[test]
    fn spans_that_do_not_match_the_text_cost_the_block_and_leave_no_image() {
        let raw = Json::parse("[1,2,3]").unwrap();
        for spans in [one(1..99), one(2..4), one(0..1), vec![4..5, 1..2]] {
            let count = spans.len();
            let images = OpaqueImages::new(spans, None);
            let block = Opaque::new(DIALECT, "block", raw.clone()).with_images(images);
            let replaced = block.with_images_replaced(&mut || Some("gone".to_owned()));
            let expected = Part::text(vec!["gone"; count].join("\n"));
            assert_eq!(replaced, Some(expected));
        }
    }

    #[test]
    fn a_dialect_without_types_gets_texts_without_types() {
        let raw = Json::parse("[1,2]").unwrap();
        let images = OpaqueImages::new(one(1..2), None);
        let block = Opaque::new(DIALECT, "block", raw).with_images(images);
        let Some(Part::Opaque(block)) = block.with_images_replaced(&mut || Some("a \"b\"".into()))
        else {
            panic!("the block is kept");
        };
        assert_eq!(block.raw.as_str(), r#"[{"text":"a \"b\""},2]"#);
    }

    #[test]
    fn the_images_of_a_block_outlive_serialization() {
        let raw = Json::parse("[1,2]").unwrap();
        let images = OpaqueImages::new(one(1..2), Some("text"));
        let block = Opaque::new(DIALECT, "block", raw).with_images(images);
        let text = serde_json::to_string(&block).unwrap();
        let read: Opaque = serde_json::from_str(&text).unwrap();
        assert_eq!(read, block);
    }
}
