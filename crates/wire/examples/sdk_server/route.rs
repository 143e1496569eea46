//! Maps a path to its protocol and endpoint.

use hyper::{HeaderMap, Method, Uri};
use majordomo_wire::{Codec, Protocol, ollama};

/// A client's request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A response, streamed or whole as the request body specifies.
    Generate,
    /// A streamed response, as the path specifies.
    Stream,
    /// A token count.
    TokenCount,
    /// The model list.
    Models,
    /// One model's capabilities; Ollama only.
    Show,
}

/// The route of a request.
pub(crate) struct SdkRoute {
    pub(crate) protocol: Protocol,
    pub(crate) codec: &'static dyn Codec,
    pub(crate) endpoint: Endpoint,
    /// The model, for dialects that carry it in the path.
    pub(crate) model: Option<String>,
}

/// Finds the route of a request.
pub(crate) fn find(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<SdkRoute> {
    let (protocol, endpoint) = match (method.as_str(), uri.path()) {
        ("POST", "/v1/chat/completions") => (Protocol::Chat, Endpoint::Generate),
        ("POST", "/v1/responses") => (Protocol::Responses, Endpoint::Generate),
        ("POST", "/v1/responses/input_tokens") => (Protocol::Responses, Endpoint::TokenCount),
        ("POST", "/v1/messages") => (Protocol::Messages, Endpoint::Generate),
        ("POST", "/v1/messages/count_tokens") => (Protocol::Messages, Endpoint::TokenCount),
        ("POST", "/api/chat" | "/api/generate") => (Protocol::Ollama, Endpoint::Generate),
        ("POST", "/api/show") => (Protocol::Ollama, Endpoint::Show),
        ("GET", "/api/tags") => (Protocol::Ollama, Endpoint::Models),
        ("GET", "/v1beta/models") => (Protocol::Gemini, Endpoint::Models),
        // Three vendors share this path; headers distinguish them.
        ("GET", "/v1/models") if headers.contains_key("anthropic-version") => {
            (Protocol::Messages, Endpoint::Models)
        }
        ("GET", "/v1/models") if headers.contains_key("x-goog-api-key") => {
            (Protocol::Gemini, Endpoint::Models)
        }
        ("GET", "/v1/models") => (Protocol::Chat, Endpoint::Models),
        ("POST", path) => return named_in_path(path),
        _ => return None,
    };
    Some(SdkRoute {
        protocol,
        codec: match uri.path() {
            "/api/generate" => ollama::generate(),
            _ => protocol.codec(),
        },
        endpoint,
        model: None,
    })
}

/// `/v1/models/{model}:{verb}`, or `v1beta` for older clients.
fn named_in_path(path: &str) -> Option<SdkRoute> {
    let rest = path
        .strip_prefix("/v1/models/")
        .or_else(|| path.strip_prefix("/v1beta/models/"))?;
    let (model, verb) = rest.rsplit_once(':')?;
    let endpoint = match verb {
        "generateContent" => Endpoint::Generate,
        "streamGenerateContent" => Endpoint::Stream,
        "countTokens" => Endpoint::TokenCount,
        _ => return None,
    };
    Some(SdkRoute {
        protocol: Protocol::Gemini,
        codec: Protocol::Gemini.codec(),
        endpoint,
        model: Some(model.to_owned()),
    })
}
