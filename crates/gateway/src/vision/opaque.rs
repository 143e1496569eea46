//! Images inside blocks that the contract does not model: a picture named by a
//! file's id, a document made of blocks, a screenshot of a computer.
//!
//! The block's JSON is walked as text, so that whatever is no image leaves as it
//! came.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use majordomo::{Json, Opaque, Part};
use majordomo_wire::Protocol;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::picture::Picture;

/// No dialect has images further down, and each level is read once more.
const MAX_DEPTH: usize = 16;

/// Whether a block holds an image.
pub(super) fn holds_picture(block: &Opaque) -> bool {
    let mut found = false;
    rewrite(block, &mut |_| {
        found = true;
        String::new()
    });
    found
}

/// The images of a block in order.
pub(super) fn pictures(block: &Opaque) -> Vec<Picture> {
    let mut found = Vec::new();
    rewrite(block, &mut |image| {
        found.push(image.read());
        String::new()
    });
    found
}

/// The block with texts in the places of its images; nothing if it has none.
pub(super) fn replaced(block: &Opaque, texts: &mut impl Iterator<Item = String>) -> Option<Part> {
    rewrite(block, &mut |_| texts.next().unwrap_or_default())
}

/// Gives the text that replaces an image.
type TextFor<'t> = &'t mut dyn FnMut(Found<'_>) -> String;

fn rewrite(block: &Opaque, text_for: TextFor<'_>) -> Option<Part> {
    let protocol = Protocol::of(&block.origin)?;
    if protocol == Protocol::Ollama {
        // An element of `images` that is not known as a picture.
        let unknown = Found {
            protocol,
            block: None,
        };
        return (block.kind == "images").then(|| Part::text(text_for(unknown)));
    }
    let raw = block.raw.as_str();
    if !raw.contains("image") {
        return None;
    }
    let mut walk = Walk { protocol, text_for };
    if let Some(found) = find(protocol, raw) {
        return Some(Part::text((walk.text_for)(found)));
    }
    let rewritten = walk.value(raw, 0)?;
    let raw = Json::parse(rewritten).ok()?;
    Some(Part::Opaque(Opaque {
        raw,
        ..block.clone()
    }))
}

struct Walk<'w> {
    protocol: Protocol,
    text_for: TextFor<'w>,
}

impl Walk<'_> {
    /// The value with its images replaced; nothing if there are none.
    fn value(&mut self, raw: &str, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        match raw.as_bytes().first()? {
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
                let written = self.each(elements.iter().copied(), depth)?;
                Some(format!("[{}]", written.join(",")))
            }
            b'{' => {
                let Fields(fields) = serde_json::from_str(raw).ok()?;
                let values = self.each(fields.iter().map(|(_, value)| *value), depth)?;
                let keys = fields.iter().map(|(key, _)| Json::string(key));
                let written: Vec<String> = keys
                    .zip(values)
                    .map(|(key, value)| format!("{}:{value}", key.as_str()))
                    .collect();
                Some(format!("{{{}}}", written.join(",")))
            }
            _ => None,
        }
    }

    /// All values, some of them replaced; nothing if none was.
    fn each<'v>(
        &mut self,
        values: impl Iterator<Item = &'v RawValue>,
        depth: usize,
    ) -> Option<Vec<String>> {
        let mut changed = false;
        let written = values
            .map(|value| {
                let new = self.block(value.get(), depth + 1);
                changed |= new.is_some();
                new.unwrap_or_else(|| value.get().to_owned())
            })
            .collect();
        changed.then_some(written)
    }

    /// A value that may be an image itself.
    fn block(&mut self, raw: &str, depth: usize) -> Option<String> {
        let Some(found) = find(self.protocol, raw) else {
            return self.value(raw, depth);
        };
        let text = Json::string(&(self.text_for)(found));
        let kind = match self.protocol {
            Protocol::Gemini => "",
            Protocol::Responses => "\"type\":\"input_text\",",
            _ => "\"type\":\"text\",",
        };
        Some(format!("{{{kind}\"text\":{}}}", text.as_str()))
    }
}

/// An image as its dialect writes it.
struct Found<'a> {
    protocol: Protocol,
    /// A block that the dialect's reader understands in a message, if there is one.
    block: Option<Cow<'a, str>>,
}

/// The image that an object is in its dialect.
fn find(protocol: Protocol, raw: &str) -> Option<Found<'_>> {
    if !raw.starts_with('{') {
        return None;
    }
    let fields: Fields<'_> = serde_json::from_str(raw).ok()?;
    let kind: Option<String> = fields
        .get("type")
        .and_then(|t| serde_json::from_str(t).ok());
    let block = match (protocol, kind.as_deref()) {
        (Protocol::Chat, Some("image_url"))
        | (Protocol::Messages, Some("image"))
        | (Protocol::Responses, Some("input_image")) => Some(Cow::Borrowed(raw)),
        // These are items: no text can stand inside them.
        (Protocol::Responses, Some("computer_call_output")) => {
            let output = fields.get("output").unwrap_or_default();
            let output: Option<Fields<'_>> = serde_json::from_str(output).ok();
            let url = output.as_ref().and_then(|output| output.get("image_url"));
            url.map(|url| format!("{{\"type\":\"input_image\",\"image_url\":{url}}}").into())
        }
        (Protocol::Responses, Some("image_generation_call")) => None,
        (Protocol::Gemini, _) => {
            let named = ["inlineData", "inline_data", "fileData", "file_data"];
            let data = named.iter().find_map(|name| fields.get(name))?;
            is_gemini_picture(data).then_some(Some(Cow::Borrowed(raw)))?
        }
        _ => return None,
    };
    Some(Found { protocol, block })
}

impl Found<'_> {
    /// Reads the block as its dialect's own reader does in a message.
    fn read(&self) -> Picture {
        let part = self.block.as_deref().and_then(|block| self.part(block));
        let picture = part.and_then(|part| Picture::of(&part));
        picture.unwrap_or(Picture::Unreadable)
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
        let message = incoming.request.messages.first()?;
        message.parts.first().cloned()
    }
}

fn is_gemini_picture(data: &str) -> bool {
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(data) else {
        return false;
    };
    let text = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| fields.get(name));
        found.and_then(|value| serde_json::from_str::<String>(value).ok())
    };
    match text(["mimeType", "mime_type"]) {
        Some(media_type) => media_type.starts_with("image/"),
        None => text(["fileUri", "file_uri"]).is_some_and(|uri| {
            let path = uri.split(['?', '#']).next().unwrap_or_default();
            let extension = path.rsplit('.').next().unwrap_or_default();
            let known = ["png", "jpg", "jpeg", "webp", "gif", "heic", "heif"];
            known.iter().any(|k| extension.eq_ignore_ascii_case(k))
        }),
    }
}

/// The fields of an object in order, their values as text.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.get())
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(All)
    }
}
