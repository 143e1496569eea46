//! Finds every image of a conversation and replaces it.
//!
//! Both walks visit the same places in the same order: parts of messages of every role,
//! tool results at any depth, files that are images, and dialect-specific blocks that
//! contain images.

use majordomo::llm::{Native, Prompt, Text};
use majordomo::{Message, Part, Role};

use super::image_content::ImageContent;
use super::opaque;

/// An image and its message.
#[derive(Debug)]
pub(super) struct ImageSlot {
    pub(super) message: usize,
    pub(super) role: Role,
    pub(super) content: ImageContent,
}

/// Whether the prompt contains an image.
pub(super) fn any(prompt: &Prompt) -> bool {
    let mut messages = prompt.messages.iter();
    messages.any(|message| contains_image(&message.parts))
}

fn contains_image(parts: &[Part]) -> bool {
    parts.iter().any(|part| match part {
        Part::ToolResult(result) => contains_image(&result.parts),
        Part::Opaque(block) => opaque::contains_image(block),
        part => ImageContent::of(part).is_some(),
    })
}

/// Number of images, without decoding any.
pub(super) fn count(prompt: &Prompt) -> usize {
    fn of(parts: &[Part]) -> usize {
        let of_part = |part: &Part| match part {
            Part::ToolResult(result) => of(&result.parts),
            Part::Opaque(block) => opaque::count(block),
            part => usize::from(ImageContent::of(part).is_some()),
        };
        parts.iter().map(of_part).sum()
    }
    prompt
        .messages
        .iter()
        .map(|message| of(&message.parts))
        .sum()
}

/// All images, in order.
pub(super) fn find(prompt: &Prompt) -> Vec<ImageSlot> {
    let mut places = Vec::new();
    for (index, message) in prompt.messages.iter().enumerate() {
        collect(&message.parts, &mut |content| {
            places.push(ImageSlot {
                message: index,
                role: message.role,
                content,
            });
        });
    }
    places
}

fn collect(parts: &[Part], found: &mut impl FnMut(ImageContent)) {
    for part in parts {
        match part {
            Part::ToolResult(result) => collect(&result.parts, found),
            Part::Opaque(block) => opaque::images(block).into_iter().for_each(&mut *found),
            part => {
                if let Some(content) = ImageContent::of(part) {
                    found(content);
                }
            }
        }
    }
}

/// Bytes of the blocks that may contain images.
pub(super) fn opaque_bytes(prompt: &Prompt) -> u64 {
    fn of(parts: &[Part]) -> u64 {
        let of_part = |part: &Part| match part {
            Part::ToolResult(result) => of(&result.parts),
            Part::Opaque(block) => block.raw.as_str().len() as u64,
            _ => 0,
        };
        parts.iter().map(of_part).sum()
    }
    prompt
        .messages
        .iter()
        .map(|message| of(&message.parts))
        .sum()
}

/// Replaces the images with texts, in the order of [`find`].
pub(super) fn replace(messages: &mut [Message], texts: impl IntoIterator<Item = String>) {
    let mut texts = texts.into_iter();
    for message in messages {
        replace_parts(&mut message.parts, &mut texts);
    }
}

fn replace_parts(parts: &mut [Part], texts: &mut impl Iterator<Item = String>) {
    for part in parts {
        match part {
            Part::ToolResult(result) => replace_parts(&mut result.parts, texts),
            Part::Opaque(block) => {
                if let Some(other) = opaque::replaced(block, texts) {
                    *part = other;
                }
            }
            _ if ImageContent::of(part).is_some() => {
                *part = Part::Text(Text {
                    text: texts.next().unwrap_or_default(),
                    native: part.native().and_then(of_any_block),
                });
            }
            _ => {}
        }
    }
}

/// The field that both text and image blocks may have: the end of the provider's prompt
/// cache.
const OF_ANY_BLOCK: &str = "cache_control";

fn of_any_block(native: &Native) -> Option<Box<Native>> {
    let value = native.get(OF_ANY_BLOCK)?;
    let kept = Native::new(native.dialect().clone()).with(OF_ANY_BLOCK, value.clone());
    kept.into_option()
}

/// Start of the last turn of these messages: after the model's last one.
fn turn_start(messages: &[Message]) -> usize {
    let last_assistant = messages.iter().rposition(|m| m.role == Role::Assistant);
    last_assistant.map_or(0, |index| index + 1)
}

/// Index of the last message. Coding agents append system messages after the user's, so
/// those are skipped.
pub(super) fn latest_message(messages: &[Message]) -> usize {
    let last = messages.iter().rposition(|m| m.role != Role::System);
    last.unwrap_or(messages.len().saturating_sub(1))
}

/// Start of the turn to respond to. An assistant prefill at the end belongs to it.
pub(super) fn latest_turn(messages: &[Message]) -> usize {
    let heard = messages.iter().rposition(|m| m.role != Role::Assistant);
    turn_start(&messages[..heard.map_or(0, |index| index + 1)])
}
