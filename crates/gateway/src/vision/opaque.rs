//! Images inside blocks that the contract does not model: a picture named by a
//! file's id, a document made of blocks, a screenshot of a computer.
//!
//! The block's JSON is walked as text, so that whatever is no image leaves as it
//! came.

use std::fmt;

use bytes::Bytes;
use majordomo::{Json, Opaque, Part};
use majordomo_wire::Protocol;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::picture::Picture;

/// No dialect has images further down, and each level is read once more.
const MAX_DEPTH: usize = 16;

/// The images of a block in order.
pub(super) fn pictures(block: &Opaque) -> Vec<Picture> {
    let mut found = Vec::new();
    rewrite(block, &mut |picture| {
        found.push(picture);
        String::new()
    });
    found
}

/// The block with texts in the places of its images; nothing if it has none.
pub(super) fn replaced(block: &Opaque, texts: &mut impl Iterator<Item = String>) -> Option<Part> {
    rewrite(block, &mut |_| texts.next().unwrap_or_default())
}

fn rewrite(block: &Opaque, text_for: &mut dyn FnMut(Picture) -> String) -> Option<Part> {
    let protocol = Protocol::of(&block.origin)?;
    if protocol == Protocol::Ollama {
        // An element of `images` that is not known as a picture.
        return (block.kind == "images").then(|| Part::text(text_for(Picture::Unreadable)));
    }
    let raw = block.raw.as_str();
    if !raw.contains("image") {
        return None;
    }
    let mut walk = Walk { protocol, text_for };
    if let Some(picture) = walk.picture(raw) {
        return Some(Part::text((walk.text_for)(picture)));
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
    text_for: &'w mut dyn FnMut(Picture) -> String,
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
                let changed = elements.iter().map(|e| self.block(e.get(), depth + 1));
                let changed: Vec<Option<String>> = changed.collect();
                changed.iter().any(Option::is_some).then(|| {
                    let pairs = changed.into_iter().zip(elements);
                    let written = pairs.map(|(new, old)| new.unwrap_or_else(|| old.get().into()));
                    format!("[{}]", written.collect::<Vec<_>>().join(","))
                })
            }
            b'{' => {
                let Fields(fields) = serde_json::from_str(raw).ok()?;
                let changed = fields.iter().map(|(_, v)| self.block(v.get(), depth + 1));
                let changed: Vec<Option<String>> = changed.collect();
                changed.iter().any(Option::is_some).then(|| {
                    let pairs = changed.into_iter().zip(fields);
                    let written = pairs.map(|(new, (key, old))| {
                        let value = new.unwrap_or_else(|| old.get().into());
                        format!("{}:{value}", Json::string(&key).as_str())
                    });
                    format!("{{{}}}", written.collect::<Vec<_>>().join(","))
                })
            }
            _ => None,
        }
    }

    /// A value that may be an image itself.
    fn block(&mut self, raw: &str, depth: usize) -> Option<String> {
        match self.picture(raw) {
            Some(picture) => {
                let text = (self.text_for)(picture);
                let text = Json::string(&text);
                Some(match self.protocol {
                    Protocol::Gemini => format!("{{\"text\":{}}}", text.as_str()),
                    Protocol::Responses => {
                        format!("{{\"type\":\"input_text\",\"text\":{}}}", text.as_str())
                    }
                    _ => format!("{{\"type\":\"text\",\"text\":{}}}", text.as_str()),
                })
            }
            None => self.value(raw, depth),
        }
    }

    /// The image that an object is in its dialect.
    fn picture(&self, raw: &str) -> Option<Picture> {
        if !raw.starts_with('{') {
            return None;
        }
        let Fields(fields) = serde_json::from_str(raw).ok()?;
        let field = |name: &str| {
            let found = fields.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.get())
        };
        let kind: Option<String> = field("type").and_then(|t| serde_json::from_str(t).ok());
        match (self.protocol, kind.as_deref()) {
            (Protocol::Chat, Some("image_url"))
            | (Protocol::Messages, Some("image"))
            | (Protocol::Responses, Some("input_image")) => Some(self.read(raw)),
            // These are items: no text can stand inside them.
            (Protocol::Responses, Some("computer_call_output")) => {
                let output: Option<Fields<'_>> =
                    field("output").and_then(|raw| serde_json::from_str(raw).ok());
                let fields = output.map(|output| output.0).unwrap_or_default();
                let url = fields.iter().find(|(key, _)| key == "image_url");
                Some(url.map_or(Picture::Unreadable, |(_, url)| {
                    let block = format!("{{\"type\":\"input_image\",\"image_url\":{}}}", url.get());
                    self.read(&block)
                }))
            }
            (Protocol::Responses, Some("image_generation_call")) => Some(Picture::Unreadable),
            (Protocol::Gemini, _) => {
                let named = ["inlineData", "inline_data", "fileData", "file_data"];
                let data = named.iter().find_map(|name| field(name))?;
                is_gemini_picture(data).then(|| self.read(raw))
            }
            _ => None,
        }
    }

    /// Reads a block as its dialect's own reader does in a message.
    fn read(&self, raw: &str) -> Picture {
        let body = match self.protocol {
            Protocol::Gemini => format!("{{\"contents\":[{{\"parts\":[{raw}]}}]}}"),
            Protocol::Responses => {
                format!("{{\"input\":[{{\"role\":\"user\",\"content\":[{raw}]}}]}}")
            }
            _ => format!("{{\"messages\":[{{\"role\":\"user\",\"content\":[{raw}]}}]}}"),
        };
        let read = self.protocol.codec().read_request(Bytes::from(body)).ok();
        let picture = read.and_then(|incoming| {
            let part = incoming.request.messages.first()?.parts.first()?;
            Picture::of(part)
        });
        picture.unwrap_or(Picture::Unreadable)
    }
}

fn is_gemini_picture(data: &str) -> bool {
    let Ok(Fields(fields)) = serde_json::from_str(data) else {
        return false;
    };
    let text = |names: [&str; 2]| {
        let found = fields.iter().find(|(key, _)| names.contains(&key.as_str()));
        found.and_then(|(_, value)| serde_json::from_str::<String>(value.get()).ok())
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
