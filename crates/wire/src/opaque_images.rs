//! Finds the images inside blocks that the contract does not model: an image given by file
//! id, a document made of blocks, a screenshot of a computer-use tool.
//!
//! Each dialect lists its forms of images in its own `opaque.rs`. A block is scanned once,
//! when it is decoded, and nothing in it is decoded. Uses `base64` and `json`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use majordomo_llm::{Dialect, ImageRef, Json, Opaque, OpaqueImages, Part, Prompt};
use memchr::memmem;

use crate::base64;
use crate::json::keep;
use crate::json::objects::{JsonObject, fields, text, walk};

/// The forms of images in a dialect's blocks.
pub(crate) struct ImageForms {
    /// The dialect.
    pub(crate) origin: Dialect,
    /// The `type` of its text blocks; `None` if its blocks have no types.
    pub(crate) text_type: Option<&'static str>,
    /// A block without any of these texts has no image; saves most scans.
    pub(crate) hints: &'static [&'static str],
    /// Whether an object of the block is an image.
    pub(crate) is_image: fn(&BlockObject<'_>) -> bool,
}

impl ImageForms {
    /// The block as a part, with its images.
    pub(crate) fn part(&self, kind: impl Into<String>, raw: &str) -> Part {
        self.part_of(kind, keep(raw))
    }

    /// Like [`part`](Self::part), for a text that is already stored.
    pub(crate) fn part_of(&self, kind: impl Into<String>, raw: Json) -> Part {
        let spans = self.find(raw.as_str());
        let block = Opaque::new(self.origin.clone(), kind, raw);
        Part::Opaque(block.with_images(OpaqueImages::new(spans, self.text_type)))
    }

    /// Declares the images in fields and hosted tools, which the contract does not model.
    pub(crate) fn declare(&self, prompt: &mut Prompt) {
        let images = |raw: &str| OpaqueImages::new(self.find(raw), self.text_type);
        prompt.visit_native_mut(&mut |native| {
            let fields = native.fields().enumerate();
            let held: Vec<usize> = fields
                .filter(|(_, (_, value))| self.may_hold_image(value.as_str()))
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
            if self.may_hold_image(tool.raw.as_str()) {
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
                unread.extend(self.find(text).into_iter().map(|span| &text[span]));
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

    /// The spans of all images, in order. An image inside an image belongs to the outer one.
    fn find(&self, raw: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if !self.may_hold_image(raw) {
            return found;
        }
        walk(raw, &FIELDS, |object| {
            let object = BlockObject(object);
            if (self.is_image)(&object) {
                let span = object.0.span;
                while found.last().is_some_and(|inner| inner.start > span.start) {
                    found.pop();
                }
                found.push(span);
            }
        });
        found
    }

    fn may_hold_image(&self, raw: &str) -> bool {
        let has = |hint: &str| memmem::find(raw.as_bytes(), hint.as_bytes()).is_some();
        // An escape may spell any hint.
        self.hints.iter().any(|hint| has(hint)) || has("\\u")
    }
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

/// The fields that identify images, in any dialect.
const FIELDS: [&str; 11] = [
    "type",
    "file",
    "file_data",
    "file_url",
    "fileData",
    "filename",
    "image",
    "image_url",
    "inlineData",
    "inline_data",
    "source",
];

/// An object inside a block.
pub(crate) struct BlockObject<'a>(JsonObject<'a, 11>);

impl<'a> BlockObject<'a> {
    /// The string in one of [`FIELDS`].
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).and_then(text)
    }

    /// The value of one of [`FIELDS`].
    pub(crate) fn raw(&self, name: &str) -> Option<&'a str> {
        let index = FIELDS.iter().position(|field| *field == name)?;
        self.0.field(index)
    }

    /// Whether its type denotes an image in any dialect. Clients and servers mix these types
    /// up, and no dialect uses one of them for anything else.
    pub(crate) fn has_image_type(&self) -> bool {
        let known = [
            "image",
            "image_base64",
            "image_embeds",
            "image_file",
            "image_url",
            "input_image",
            "output_image",
        ];
        self.text("type")
            .is_some_and(|kind| known.contains(&&*kind))
    }

    /// Whether it has no type, and an image by URL: vLLM reads `image_url`, DashScope
    /// `image`, and the mask of an image tool is one. A schema may have fields of these names,
    /// but no URL there.
    pub(crate) fn is_untyped_image(&self) -> bool {
        let urls = [self.raw("image_url"), self.raw("image")];
        self.raw("type").is_none()
            && urls.into_iter().flatten().any(|value| {
                let url = text(value).or_else(|| text_field(value, &["url"]));
                url.is_some_and(|url| is_url(&url))
            })
    }
}

fn is_url(text: &str) -> bool {
    ["https://", "http://", "data:"]
        .iter()
        .any(|scheme| starts_with(text, scheme))
}

/// The string in a field of an object, given its names.
pub(crate) fn text_field<'a, const N: usize>(
    object: &'a str,
    names: &[&str; N],
) -> Option<Cow<'a, str>> {
    let object = fields(object, names)?;
    (0..N).find_map(|name| object.field(name)).and_then(text)
}

/// Whether the data of a file is an image: as a data URL, or by its first bytes.
pub(crate) fn is_image_file_data(data: &str) -> bool {
    is_image_data_url(data) || is_image_base64("", data)
}

/// Whether a text is a data URL of an image.
fn is_image_data_url(url: &str) -> bool {
    let scheme = "data:";
    let rest = url.get(scheme.len()..).filter(|_| starts_with(url, scheme));
    let data = rest.and_then(|rest| rest.split_once(','));
    data.is_some_and(|(head, data)| {
        let media_type = head.split(';').next().unwrap_or_default();
        is_image_base64(media_type, data)
    })
}

/// Whether a media type says nothing about what a file is.
pub(crate) fn is_generic_type(media_type: &str) -> bool {
    let generic = ["", "application/octet-stream", "binary/octet-stream"];
    generic
        .iter()
        .any(|name| media_type.eq_ignore_ascii_case(name))
}

/// Whether encoded data is an image, by its media type or, if that is generic, its first
/// bytes.
pub(crate) fn is_image_base64(media_type: &str, data: &str) -> bool {
    /// Enough for every magic number.
    const HEAD: usize = 64;
    let head = data.get(..HEAD).unwrap_or(data);
    let head = base64::decode_either(head).unwrap_or_default();
    is_image_type(&file_media_type(media_type, &head))
}

/// Whether a media type denotes an image.
pub(crate) fn is_image_type(media_type: &str) -> bool {
    starts_with(media_type, "image/")
}

fn starts_with(text: &str, start: &str) -> bool {
    let head = text.get(..start.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Whether the extension of a URL or file name is that of an image.
pub(crate) fn is_named_as_image(name: &str) -> bool {
    media_type_of_extension(name).is_some()
}

/// The media type of an image URL, by its extension.
pub(crate) fn media_type_of_extension(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        _ => return None,
    })
}

/// The media type of a file. If the declared type is generic and the bytes are an image, its
/// type is used.
pub(crate) fn file_media_type(declared: &str, data: &[u8]) -> String {
    if is_generic_type(declared) {
        let sniffed = majordomo_image_header::sniff(data).map(|format| format.media_type());
        if let Some(image) = sniffed.filter(|media_type| is_image_type(media_type)) {
            return image.to_owned();
        }
    }
    declared.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn spans(raw: &str) -> Vec<&str> {
        let forms = ImageForms {
            origin: Protocol::Messages.dialect(),
            text_type: None,
            hints: &["image"],
            is_image: |object| object.has_image_type(),
        };
        let found = forms.find(raw).into_iter();
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
