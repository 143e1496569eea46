//! What people and programs really say to models, and what these answer.

mod answers;
mod conversations;
mod settings;
mod thoughts;

pub(crate) use answers::{answers, events};

use majordomo_llm::{Part, Prompt};

/// The smallest beginnings of pictures that tell their types.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0";
const WEBP: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L";

fn png() -> Part {
    Part::image("image/png", PNG)
}

/// All conversations, each with its name.
pub(crate) fn conversations() -> Vec<(&'static str, Prompt)> {
    let mut all = conversations::all();
    all.extend(settings::all());
    all.extend(thoughts::conversations());
    all
}
