//! The images of a conversation and their messages, and which messages are the latest.

use majordomo::llm::{ImageRef, Prompt};
use majordomo::{Message, Role};

use super::image_content::ImageContent;

/// An image and its message.
#[derive(Debug)]
pub(super) struct ImageSlot {
    /// None outside the messages.
    pub(super) message: Option<usize>,
    pub(super) role: Role,
    pub(super) content: ImageContent,
}

/// All images, in order.
pub(super) fn find(prompt: &Prompt) -> Vec<ImageSlot> {
    let messages = prompt.messages.iter().enumerate();
    let slots = messages.flat_map(|(index, message)| {
        message.images().map(move |image| ImageSlot {
            message: Some(index),
            role: message.role,
            content: ImageContent::of(image),
        })
    });
    // Images elsewhere belong to no message; they count as instructions, like a system
    // message.
    let in_messages = prompt.messages.iter().map(Message::image_count).sum();
    let elsewhere = prompt.images().skip(in_messages).map(|image| ImageSlot {
        message: None,
        role: Role::System,
        content: ImageContent::of(image),
    });
    slots.chain(elsewhere).collect()
}

/// Bytes of the blocks that contain images; they are rewritten.
pub(super) fn opaque_bytes(prompt: &Prompt) -> u64 {
    let first = |image| match image {
        ImageRef::Opaque { block, index: 0 } => block.raw.as_str().len() as u64,
        ImageRef::Opaque { .. } | ImageRef::Inline(_) | ImageRef::Remote(_) | ImageRef::File(_) => {
            0
        }
    };
    prompt.images().map(first).sum()
}

/// Replaces the images with texts, in the order of [`find`].
pub(super) fn replace(prompt: &mut Prompt, texts: Vec<String>) {
    let mut texts = texts.into_iter();
    let mut next = || Some(texts.next().unwrap_or_default());
    for part in prompt.images_mut() {
        part.replace_images(&mut next);
    }
    prompt.replace_native_images(&mut next);
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
