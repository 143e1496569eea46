//! Which protocol a path belongs to, and what is asked there.

use hyper::{HeaderMap, Method, Uri};
use majordomo_wire::{Codec, Protocol, ollama};

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// An answer, streamed or whole as the request says.
    Answer,
    /// A streamed answer, since the path says so.
    Stream,
    /// How many tokens a request has.
    TokenCount,
    /// Which models there are.
    Models,
    /// What one model can do; only Ollama's clients ask.
    Show,
}

/// Where a request goes.
pub(crate) struct Route {
    pub(crate) protocol: Protocol,
    pub(crate) codec: &'static dyn Codec,
    pub(crate) asked: Asked,
    /// The model, in dialects that have it in the path.
    pub(crate) model: Option<String>,
}

/// Finds the route of a request.
pub(crate) fn find(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Route> {
    let (protocol, asked) = match (method.as_str(), uri.path()) {
        ("POST", "/v1/chat/completions") => (Protocol::Chat, Asked::Answer),
        ("POST", "/v1/responses") => (Protocol::Responses, Asked::Answer),
        ("POST", "/v1/responses/input_tokens") => (Protocol::Responses, Asked::TokenCount),
        ("POST", "/v1/messages") => (Protocol::Messages, Asked::Answer),
        ("POST", "/v1/messages/count_tokens") => (Protocol::Messages, Asked::TokenCount),
        ("POST", "/api/chat" | "/api/generate") => (Protocol::Ollama, Asked::Answer),
        ("POST", "/api/show") => (Protocol::Ollama, Asked::Show),
        ("GET", "/api/tags") => (Protocol::Ollama, Asked::Models),
        ("GET", "/v1beta/models") => (Protocol::Gemini, Asked::Models),
        // Three vendors have this path; their headers tell them apart.
        ("GET", "/v1/models") if headers.contains_key("anthropic-version") => {
            (Protocol::Messages, Asked::Models)
        }
        ("GET", "/v1/models") if headers.contains_key("x-goog-api-key") => {
            (Protocol::Gemini, Asked::Models)
        }
        ("GET", "/v1/models") => (Protocol::Chat, Asked::Models),
        ("POST", path) => return named_in_path(path),
        _ => return None,
    };
    Some(Route {
        protocol,
        codec: match uri.path() {
            "/api/generate" => ollama::generate(),
            _ => protocol.codec(),
        },
        asked,
        model: None,
    })
}

/// `/v1/models/{model}:{verb}`, where older clients have `v1beta`.
fn named_in_path(path: &str) -> Option<Route> {
    let rest = path
        .strip_prefix("/v1/models/")
        .or_else(|| path.strip_prefix("/v1beta/models/"))?;
    let (model, verb) = rest.rsplit_once(':')?;
    let asked = match verb {
        "generateContent" => Asked::Answer,
        "streamGenerateContent" => Asked::Stream,
        "countTokens" => Asked::TokenCount,
        _ => return None,
    };
    Some(Route {
        protocol: Protocol::Gemini,
        codec: Protocol::Gemini.codec(),
        asked,
        model: Some(model.to_owned()),
    })
}
