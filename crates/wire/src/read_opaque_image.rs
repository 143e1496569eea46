//! Reads one image of an opaque block.

use std::borrow::Cow;

use bytes::Bytes;
use majordomo_llm::{Opaque, Part};

use crate::Protocol;
use crate::json::objects::fields;

/// Reads an image of a block, by its index in [`Opaque::images`], as its dialect's decoder
/// reads it in a message. `None` if only the original provider can open it, as with a file
/// id.
///
/// ```
/// use majordomo_wire::{Protocol, read_opaque_image};
///
/// let body = r#"{"messages":[{"role":"user","content":[{"type":"document","source":
///     {"type":"content","content":[{"type":"image","source":
///         {"type":"url","url":"https://pictures.example/1"}}]}}]}]}"#;
/// let incoming = Protocol::Messages.codec().read_request(body.into()).unwrap();
/// let majordomo_llm::Part::Opaque(block) = &incoming.request.prompt().messages[0].parts[0] else {
///     panic!("the document is opaque");
/// };
/// let Some(majordomo_llm::Part::RemoteImage(image)) = read_opaque_image(block, 0) else {
///     panic!("the image has a URL");
/// };
/// assert_eq!(image.url, "https://pictures.example/1");
/// ```
pub fn read_opaque_image(block: &Opaque, index: usize) -> Option<Part> {
    let protocol = Protocol::of(&block.origin)?;
    let image = block.raw.as_str().get(block.images().get(index)?.clone())?;
    let body = match protocol {
        Protocol::Gemini => format!("{{\"contents\":[{{\"parts\":[{image}]}}]}}"),
        Protocol::Responses => {
            let image = screenshot(image).map_or(Cow::Borrowed(image), Cow::Owned);
            format!("{{\"input\":[{{\"role\":\"user\",\"content\":[{image}]}}]}}")
        }
        Protocol::Chat | Protocol::Messages => {
            format!("{{\"messages\":[{{\"role\":\"user\",\"content\":[{image}]}}]}}")
        }
        // If its decoder does not recognize it, it has no other form.
        Protocol::Ollama => return None,
    };
    let incoming = protocol.codec().read_request(Bytes::from(body)).ok()?;
    let part = incoming.request.prompt().messages.first()?.parts.first()?;
    match part {
        Part::Image(_) | Part::RemoteImage(_) | Part::File(_) => Some(part.clone()),
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Reasoning(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::Opaque(_) => None,
    }
}

/// The screenshot of a computer-use tool as an image block.
fn screenshot(item: &str) -> Option<String> {
    let item = fields(item, &["output", "image_url"])?;
    let inside = item
        .field(0)
        .and_then(|output| fields(output, &["image_url"]));
    let url = inside
        .and_then(|inside| inside.field(0))
        .or(item.field(1))?;
    Some(format!("{{\"type\":\"input_image\",\"image_url\":{url}}}"))
}
