//! Images inside blocks that the request model does not cover: an image given by file id,
//! a document made of blocks, a screenshot of a computer-use tool.
//!
//! The block's JSON is scanned once, and only images are decoded. A block without images
//! is left unchanged, byte for byte.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use majordomo::llm::Opaque;
use majordomo::{Json, Part};
use majordomo_wire::Protocol;

use super::image_content::ImageContent;
use super::objects::{JsonObject, fields, text, walk};

/// No dialect nests images deeper.
const MAX_DEPTH: usize = 17;

/// Fields that identify an image.
const NAMES: [&str; 6] = [
    "type",
    "output",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
];
const TYPE: usize = 0;
const OUTPUT: usize = 1;
const GEMINI: Range<usize> = 2..6;

/// Number of images in a block.
pub(super) fn count(block: &Opaque) -> usize {
    OpaqueImage::all(block).len()
}

/// Whether a block contains an image.
pub(super) fn contains_image(block: &Opaque) -> bool {
    !OpaqueImage::all(block).is_empty()
}

/// The images of a block, in order.
pub(super) fn images(block: &Opaque) -> Vec<ImageContent> {
    let found = OpaqueImage::all(block);
    found.iter().map(|found| found.read(block)).collect()
}

/// The block with its images replaced by texts; `None` if it has none.
pub(super) fn replaced(block: &Opaque, texts: &mut impl Iterator<Item = String>) -> Option<Part> {
    let found = OpaqueImage::all(block);
    let raw = block.raw.as_str();
    let mut next = || texts.next().unwrap_or_default();
    let protocol = match found.as_slice() {
        [] => return None,
        // The whole block is replaced by a text.
        [only] if raw.get(only.span.clone())?.len() == raw.trim().len() => {
            return Some(Part::text(next()));
        }
        [first, ..] => first.protocol,
    };
    let mut rewritten = String::with_capacity(raw.len());
    let mut copied = 0;
    for found in &found {
        let text = Json::string(&next());
        rewritten.push_str(raw.get(copied..found.span.start)?);
        rewritten.push_str(match protocol {
            Protocol::Gemini => "{\"text\":",
            Protocol::Responses => "{\"type\":\"input_text\",\"text\":",
            _ => "{\"type\":\"text\",\"text\":",
        });
        rewritten.push_str(text.as_str());
        rewritten.push('}');
        copied = found.span.end;
    }
    rewritten.push_str(raw.get(copied..)?);
    let raw = Json::parse(rewritten).ok()?;
    Some(Part::Opaque(Opaque {
        raw,
        ..block.clone()
    }))
}

/// An image as encoded in its dialect.
struct OpaqueImage {
    protocol: Protocol,
    span: Range<usize>,
    source: ImageSource,
}

/// Where the image data is.
enum ImageSource {
    /// The object is a block that the dialect's decoder accepts in a message.
    Block,
    /// The object is not such a block, but contains the image's URL.
    Url(Range<usize>),
    /// Not readable.
    Unknown,
}

impl OpaqueImage {
    fn all(block: &Opaque) -> Vec<Self> {
        let raw = block.raw.as_str();
        let Some(protocol) = Protocol::of(&block.origin) else {
            return Vec::new();
        };
        if protocol == Protocol::Ollama {
            // An element of `images` that is not recognized.
            let unknown = Self {
                protocol,
                span: 0..raw.trim().len(),
                source: ImageSource::Unknown,
            };
            return (block.kind == "images")
                .then_some(unknown)
                .into_iter()
                .collect();
        }
        let mut found: Vec<Self> = Vec::new();
        if !raw.contains("image") {
            return found;
        }
        walk(raw, &NAMES, |object| {
            if object.depth > MAX_DEPTH {
                return;
            }
            if let Some(source) = source(protocol, raw, &object) {
                // An image nested in an image belongs to the outer one.
                let inside = |other: &mut Self| other.span.start > object.span.start;
                while found.last_mut().is_some_and(inside) {
                    found.pop();
                }
                found.push(Self {
                    protocol,
                    span: object.span,
                    source,
                });
            }
        });
        found
    }

    /// Decodes the block like the dialect's decoder does in a message.
    fn read(&self, block: &Opaque) -> ImageContent {
        let raw = block.raw.as_str();
        let block = match &self.source {
            ImageSource::Block => raw.get(self.span.clone()).map(Cow::Borrowed),
            ImageSource::Url(span) => raw
                .get(span.clone())
                .map(|url| Cow::Owned(format!("{{\"type\":\"input_image\",\"image_url\":{url}}}"))),
            ImageSource::Unknown => None,
        };
        let part = block.and_then(|block| self.part(&block));
        let content = part.and_then(|part| ImageContent::of(&part));
        content.unwrap_or(ImageContent::Unreadable)
    }

    fn part(&self, block: &str) -> Option<Part> {
        let body = match self.protocol {
            Protocol::Gemini => format!("{{\"contents\":[{{\"parts\":[{block}]}}]}}"),
            Protocol::Responses => {
                format!("{{\"input\":[{{\"role\":\"user\",\"content\":[{block}]}}]}}")
            }
            _ => format!("{{\"messages\":[{{\"role\":\"user\",\"content\":[{block}]}}]}}"),
        };
        let incoming = self.protocol.codec().read_request(Bytes::from(body)).ok()?;
        let message = incoming.request.prompt().messages.first()?;
        message.parts.first().cloned()
    }
}

/// The image source of an object, if it is an image in its dialect.
fn source(protocol: Protocol, raw: &str, object: &JsonObject<'_, 6>) -> Option<ImageSource> {
    let kind = object.field(TYPE).and_then(text);
    match (protocol, kind.as_deref()) {
        (Protocol::Chat, Some("image_url"))
        | (Protocol::Messages, Some("image"))
        | (Protocol::Responses, Some("input_image")) => Some(ImageSource::Block),
        // These are items, which cannot contain text.
        (Protocol::Responses, Some("computer_call_output")) => {
            let output = object.span_of(OUTPUT).unwrap_or_default();
            let inside = raw.get(output.clone()).unwrap_or_default();
            let url = fields(inside, &["image_url"]).and_then(|inside| inside.span_of(0));
            let address = |url: Range<usize>| output.start + url.start..output.start + url.end;
            Some(url.map_or(ImageSource::Unknown, |url| ImageSource::Url(address(url))))
        }
        (Protocol::Responses, Some("image_generation_call")) => Some(ImageSource::Unknown),
        (Protocol::Gemini, _) => {
            let data = GEMINI.filter_map(|name| object.field(name)).next()?;
            is_gemini_image(data).then_some(ImageSource::Block)
        }
        _ => None,
    }
}

fn is_gemini_image(data: &str) -> bool {
    let names = ["mimeType", "mime_type", "fileUri", "file_uri"];
    let Some(object) = fields(data, &names) else {
        return false;
    };
    let one = |names: [usize; 2]| {
        let found = names.into_iter().find_map(|name| object.field(name));
        found.and_then(text)
    };
    match one([0, 1]) {
        Some(media_type) => media_type.starts_with("image/"),
        None => one([2, 3]).is_some_and(|uri| {
            let path = uri.split(['?', '#']).next().unwrap_or_default();
            let extension = path.rsplit('.').next().unwrap_or_default();
            let known = ["png", "jpg", "jpeg", "webp", "gif", "heic", "heif"];
            known.iter().any(|k| extension.eq_ignore_ascii_case(k))
        }),
    }
}
