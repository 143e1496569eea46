//! Extracts the texts of a request that conditions search.

use std::borrow::Cow;

use majordomo::llm::Prompt;
use majordomo::{Message, Part, Role};
use serde::Deserialize;

/// Placeholder for an image in user text.
pub(super) const IMAGE: &str = "[image]";

/// The user message that ends a request.
pub(super) struct LatestUser<'a> {
    /// Its text; never empty.
    pub(super) text: Cow<'a, str>,
    /// Whether it contains an image outside of tool results.
    pub(super) has_image: bool,
}

/// All system text, including system messages within the conversation.
pub(super) fn system(prompt: &Prompt) -> Cow<'_, str> {
    join(system_texts(prompt))
}

/// Each system text.
pub(super) fn system_texts(prompt: &Prompt) -> impl Iterator<Item = &str> {
    let own = prompt.system.iter().map(|text| text.text.as_str());
    let inline = prompt
        .messages
        .iter()
        .filter(|message| message.role == Role::System)
        .flat_map(|message| message.parts.iter().filter_map(Part::as_text));
    own.chain(inline)
}

/// The user's text in all messages.
pub(super) fn user(prompt: &Prompt) -> Cow<'_, str> {
    let messages = prompt.messages.iter();
    join(
        messages
            .filter(|message| message.role == Role::User)
            .flat_map(message_texts),
    )
}

/// The final message, if it is the user's and has text. Coding agents append
/// system messages after the user's, so those are skipped.
pub(super) fn latest_user(prompt: &Prompt) -> Option<LatestUser<'_>> {
    let latest = last_non_system(prompt)?;
    if latest.role != Role::User {
        return None;
    }
    let text = join(message_texts(latest));
    let has_image = latest.parts.iter().any(|part| own_images(part) > 0);
    (!text.is_empty()).then_some(LatestUser { text, has_image })
}

fn last_non_system(prompt: &Prompt) -> Option<&Message> {
    prompt
        .messages
        .iter()
        .rev()
        .find(|message| message.role != Role::System)
}

/// The texts of the user's last message, wherever it is.
pub(super) fn last_user_texts(prompt: &Prompt) -> impl Iterator<Item = &str> {
    let messages = prompt.messages.iter().rev();
    messages
        .filter(|message| message.role == Role::User)
        .take(1)
        .flat_map(message_texts)
}

/// A message's texts, with a placeholder for each image and without tool results.
fn message_texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().flat_map(|part| {
        let images = std::iter::repeat_n(IMAGE, own_images(part));
        part.as_text().into_iter().chain(images)
    })
}

/// Number of images outside of tool results.
fn own_images(part: &Part) -> usize {
    match part.as_tool_result() {
        Some(_) => 0,
        None => part.image_count(),
    }
}

/// Joins texts with line feeds; a single one is borrowed.
fn join<'a>(texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let mut joined = Cow::Borrowed("");
    for next in texts.filter(|next| !next.is_empty()) {
        if joined.is_empty() {
            joined = Cow::Borrowed(next);
        } else {
            let text = joined.to_mut();
            text.push('\n');
            text.push_str(next);
        }
    }
    joined
}

/// Whether an Anthropic client sent `thinking: {type: enabled}` without a budget,
/// which would have been decoded into its own field.
pub(super) fn thinking_was_enabled(prompt: &Prompt) -> bool {
    #[derive(Deserialize)]
    struct ThinkingField {
        r#type: String,
    }
    let native = prompt.native.as_ref();
    let raw = native.and_then(|native| native.get("thinking"));
    raw.and_then(|raw| raw.to::<ThinkingField>().ok())
        .is_some_and(|thinking| thinking.r#type == "enabled")
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo::{Request, ToolCall, ToolResult};

    #[test]
    fn a_single_text_is_borrowed_and_several_are_joined_with_line_feeds() {
        let one = Request::user("hi").system("a");
        assert!(matches!(system(one.prompt()), Cow::Borrowed("a")));
        let two = one.message(Message::system("b"));
        assert_eq!(system(two.prompt()), "a\nb");
    }

    #[test]
    fn images_become_placeholders_and_tool_results_are_omitted() {
        let call = ToolCall::new("call_0", "look", "{}");
        let result = Part::ToolResult(ToolResult::new(&call, "secret"));
        let request = Request::user("see")
            .part(Part::image("image/png", vec![1]))
            .message(Message::assistant("no"))
            .message(Message::new(
                Role::User,
                vec![result, Part::text("and now?")],
            ));
        assert_eq!(user(request.prompt()), "see\n[image]\nand now?");
        assert_eq!(latest_user(request.prompt()).unwrap().text, "and now?");
    }

    #[test]
    fn an_image_alone_counts_as_text() {
        let request = Request::user(Part::image("image/png", vec![1]));
        let latest = latest_user(request.prompt()).unwrap();
        assert_eq!((&*latest.text, latest.has_image), (IMAGE, true));
    }

    #[test]
    fn instructions_after_the_users_message_do_not_hide_it() {
        let request = Request::user("fix it").message(Message::system("agents: none"));
        assert_eq!(latest_user(request.prompt()).unwrap().text, "fix it");
    }

    #[test]
    fn an_assistant_message_hides_the_users_message() {
        let request = Request::user("fix it").message(Message::assistant("done"));
        assert!(latest_user(request.prompt()).is_none());
        assert_eq!(
            last_user_texts(request.prompt()).collect::<Vec<_>>(),
            ["fix it"]
        );
    }
}
