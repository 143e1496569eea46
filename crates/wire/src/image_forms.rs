//! The forms of images in blocks that the contract does not model.
//!
//! One list for all dialects: clients and servers mix the forms up, and no dialect uses one of
//! them for anything else. Nothing is decoded but the first bytes of a file. Uses `base64` and
//! `json`.

use std::borrow::Cow;

use memchr::memmem;

use crate::base64;
use crate::json::objects::{JsonObject, fields, text};

/// A block without any of these texts has no image; saves most scans.
const HINTS: [&str; 4] = ["image", "file", "inline", "document"];

/// Whether a text may hold an image, so that a scan is worthwhile.
pub(crate) fn may_hold_image(raw: &str) -> bool {
    let has = |hint: &str| memmem::find(raw.as_bytes(), hint.as_bytes()).is_some();
    // Only an object is an image. An escape may spell any hint.
    raw.starts_with(['{', '[']) && (HINTS.iter().any(|hint| has(hint)) || has("\\u"))
}

/// The fields by which an object is recognized as an image.
pub(crate) const FIELDS: [&str; 17] = [
    "type",
    "image",
    "image_url",
    "file",
    "source",
    "fileData",
    "file_data",
    "inlineData",
    "inline_data",
    "mimeType",
    "mime_type",
    "mediaType",
    "media_type",
    "data",
    "blob",
    "url",
    "uri",
];

/// An object inside a block.
pub(crate) struct BlockObject<'a>(pub(crate) JsonObject<'a, 17>);

impl<'a> BlockObject<'a> {
    /// Whether the object is an image.
    pub(crate) fn is_image(&self) -> bool {
        let kind = self.text("type").unwrap_or_default();
        match &*kind {
            "image" | "image_base64" | "image_embeds" | "image_file" | "image_url"
            | "input_image" | "output_image" => true,
            // Items of Responses, which hold nothing but an image and have no place for a text.
            "computer_call_output" | "computer_screenshot" | "image_generation_call" => true,
            "file" | "input_file" | "document" | "document_url" => self.is_image_file(),
            _ => {
                (kind.is_empty() && self.is_untyped_image())
                    || self.is_gemini_data()
                    || self.is_media()
            }
        }
    }

    /// Whether it has an image by URL, and no type: vLLM reads `image_url`, DashScope `image`,
    /// and the mask of an image tool is one. A schema may have fields of these names, but no
    /// URL there.
    fn is_untyped_image(&self) -> bool {
        let urls = [self.raw("image_url"), self.raw("image")];
        urls.into_iter().flatten().any(|value| {
            let url = text(value).or_else(|| text_field(value, &["url"]));
            url.is_some_and(|url| is_url(&url))
        })
    }

    /// A file or document, with its data or its name in the block itself, in `file` or in
    /// `source`.
    fn is_image_file(&self) -> bool {
        let places = [Some(self.0.text()), self.raw("file"), self.raw("source")];
        places.into_iter().flatten().any(is_image_file) || self.is_stored_image()
    }

    /// A document that is stored elsewhere, and titled like an image.
    fn is_stored_image(&self) -> bool {
        let title = text_field(self.0.text(), &["title"]);
        let source = self.raw("source");
        title.is_some_and(|title| is_named_as_image(&title))
            && source.is_some_and(|source| text_field(source, &["file_id", "url"]).is_some())
    }

    /// A part of Gemini.
    fn is_gemini_data(&self) -> bool {
        ["fileData", "file_data", "inlineData", "inline_data"]
            .iter()
            .filter_map(|name| self.raw(name))
            .any(|data| {
                let media_type = text_field(data, &["mimeType", "mime_type"]);
                let media_type = media_type.unwrap_or_default();
                let bytes = text_field(data, &["data"]).unwrap_or_default();
                let uri = text_field(data, &["fileUri", "file_uri"]).unwrap_or_default();
                is_image_base64(&media_type, &bytes)
                    || (is_generic_type(&media_type) && is_named_as_image(&uri))
            })
    }

    /// Data or a URL that is declared as an image, as in MCP.
    fn is_media(&self) -> bool {
        let is_declared = ["mimeType", "mime_type", "mediaType", "media_type"]
            .iter()
            .filter_map(|name| self.text(name))
            .any(|media_type| is_image_type(&media_type));
        is_declared
            && ["data", "blob", "url", "uri"]
                .iter()
                .any(|name| self.text(name).is_some())
    }

    /// The string in one of [`FIELDS`].
    fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).and_then(text)
    }

    /// The value of one of [`FIELDS`].
    fn raw(&self, name: &str) -> Option<&'a str> {
        let index = FIELDS.iter().position(|field| *field == name)?;
        self.0.field(index)
    }
}

/// Whether a file is declared as an image, named as one, or begins like one. Some servers take
/// a URL as a file's id, and its type as `format`.
fn is_image_file(file: &str) -> bool {
    const TYPES: usize = 4;
    const DATA: usize = 6;
    let names = [
        "media_type",
        "mediaType",
        "mimeType",
        "format",
        "file_data",
        "data",
        "filename",
        "file_id",
        "file_url",
        "document_url",
        "url",
    ];
    let Some(file) = fields(file, &names) else {
        return false;
    };
    let mut named = (0..names.len()).filter_map(|at| Some((at, text(file.field(at)?)?)));
    named.any(|(at, value)| match at {
        ..TYPES => is_image_type(&value),
        TYPES..DATA => is_image_file_data(&value),
        DATA.. => is_named_as_image(&value) || is_image_data_url(&value),
    })
}

fn is_url(text: &str) -> bool {
    ["https://", "http://", "data:"]
        .iter()
        .any(|scheme| starts_with(text, scheme))
}

/// The string in a field of an object, given its names.
fn text_field<'a, const N: usize>(object: &'a str, names: &[&str; N]) -> Option<Cow<'a, str>> {
    let object = fields(object, names)?;
    (0..N).find_map(|name| object.field(name)).and_then(text)
}

/// Whether the data of a file is an image: as a data URL, or by its first bytes.
fn is_image_file_data(data: &str) -> bool {
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

/// Whether encoded data is an image, by its media type or its first bytes.
fn is_image_base64(media_type: &str, data: &str) -> bool {
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
        "jpg" | "jpeg" | "jfif" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "avif" => "image/avif",
        "bmp" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

/// The media type of a file. If its bytes are an image, they win over the declared type:
/// clients mislabel files. (The source of a drawing may be meant as text.)
pub(crate) fn file_media_type(declared: &str, data: &[u8]) -> String {
    use majordomo_image_header::{Format, sniff};
    let sniffed = sniff(data)
        .filter(|format| is_generic_type(declared) || *format != Format::Svg)
        .map(Format::media_type);
    match sniffed {
        Some(image) if is_image_type(image) && !is_image_type(declared) => image.to_owned(),
        _ => declared.to_owned(),
    }
}
