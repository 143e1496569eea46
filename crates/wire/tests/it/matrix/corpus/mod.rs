//! Typical conversations and responses.

mod conversations;
mod reasoning;
mod responses;
mod settings;

pub(crate) use responses::{events, responses};

use majordomo_llm::{Part, Prompt};

/// The shortest prefixes that identify an image type.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0";
const WEBP: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L";

fn png() -> Part {
    Part::image("image/png", PNG)
}

/// All conversations, by name.
pub(crate) fn conversations() -> Vec<(&'static str, Prompt)> {
    let mut all = conversations::all();
    all.extend(settings::all());
    all.extend(reasoning::conversations());
    all
}
