//! Requests to `/api/generate`: one prompt instead of a conversation.

use majordomo_llm::{Json, Message, Native, Part, Prompt, Role, Text};

use super::{OLLAMA, image};

/// The endpoint that determines the form of a request and of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OllamaEndpoint {
    /// `/api/chat`.
    Chat,
    /// `/api/generate`.
    Generate,
}

/// Fields that only `/api/generate` has, besides `prompt`, `system` and `images`.
pub(super) const GENERATE_ONLY: &[&str] = &["suffix", "template", "raw", "context"];

/// Returns the endpoint that a request is written for.
///
/// A request read from `/api/generate` stays there while it is a single message of
/// text and images; everything else goes to `/api/chat`.
pub fn endpoint(prompt: &Prompt) -> OllamaEndpoint {
    match prompt.messages.as_slice() {
        [message] if is_prompt(message) && prompt.tools.is_empty() => OllamaEndpoint::Generate,
        _ => OllamaEndpoint::Chat,
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

/// Adds `system` and the text and images of a generate request as one message. An
/// empty request only loads the model and adds no message.
pub(super) fn add_prompt(prompt: &mut Prompt, text: &str, system: &str, images: Vec<Part>) {
    if !system.is_empty() {
        prompt.system.push(Text::new(system));
    }
    let text = (!text.is_empty()).then(|| Part::text(text));
    let parts: Vec<Part> = text.into_iter().chain(images).collect();
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
