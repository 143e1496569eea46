//! The second form of a request: one prompt instead of a conversation.

use majordomo_llm::{Json, Message, Native, Part, Prompt, Role, Text};

use super::{OLLAMA, image};

/// The two forms of a request and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `/api/chat`.
    Chat,
    /// `/api/generate`.
    Generate,
}

/// Fields that only `/api/generate` has, beside prompt, system and images.
pub(super) const ONLY_HERE: &[&str] = &["suffix", "template", "raw", "context"];

/// The form in which a request is written, and so the path that it belongs to.
///
/// A request that was read as generate stays one as long as it is one question
/// of text and pictures; everything else is a chat.
pub fn form(prompt: &Prompt) -> Form {
    match prompt.messages.as_slice() {
        [question] if is_prompt(question) && prompt.tools.is_empty() => Form::Generate,
        _ => Form::Chat,
    }
}

fn is_prompt(message: &Message) -> bool {
    let native = message.native.as_ref().filter(|n| *n.dialect() == OLLAMA);
    let field = native.and_then(|native| native.get("field"));
    let plain = |part: &Part| matches!(part, Part::Text(_)) || image::belongs(part);
    message.role == Role::User
        && field.is_some_and(|field| field.as_str() == "\"prompt\"")
        && message.parts.iter().all(plain)
}

/// Adds the one question to a prompt, and its instructions. An empty question
/// only loads the model: a conversation without messages.
pub(super) fn fill(prompt: &mut Prompt, question: &str, system: &str, pictures: Vec<Part>) {
    if !system.is_empty() {
        prompt.system.push(Text::new(system));
    }
    let text = (!question.is_empty()).then(|| Part::text(question));
    let parts: Vec<Part> = text.into_iter().chain(pictures).collect();
    if parts.is_empty() {
        return;
    }
    let mark = Native::new(OLLAMA).with("field", Json::string("prompt"));
    prompt.messages.push(Message {
        role: Role::User,
        parts,
        native: mark.into_option(),
    });
}
