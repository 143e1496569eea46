//! Low-cardinality method and route names.

use http::Method;

use super::Front;
use super::path::{Endpoint, ImageCall, StreamMode};

/// Low-cardinality names of an HTTP request.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EndpointLabels {
    /// The method; `_OTHER` if it is not a common one.
    pub method: &'static str,
    /// The path template; `None` for an unknown path.
    pub path: Option<&'static str>,
}

impl EndpointLabels {
    pub(crate) fn of(method: &Method, endpoint: &Endpoint) -> Self {
        Self {
            method: method_name(method),
            path: template(endpoint),
        }
    }
}

/// The method; unknown ones are `_OTHER`.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "_OTHER",
    }
}

/// The path template; none for an unknown path.
fn template(endpoint: &Endpoint) -> Option<&'static str> {
    Some(match endpoint {
        Endpoint::Generate { front, stream, .. } => match (front, stream) {
            (Front::Chat, _) => "/v1/chat/completions",
            (Front::TextCompletions, _) => "/v1/completions",
            (Front::Responses, _) => "/v1/responses",
            (Front::Compaction, _) => "/v1/responses/compact",
            (Front::Messages, _) => "/v1/messages",
            (Front::OllamaChat, _) => "/api/chat",
            (Front::OllamaGenerate, _) => "/api/generate",
            (Front::Gemini, StreamMode::Events | StreamMode::Array) => {
                "/v1beta/models/{model}:streamGenerateContent"
            }
            (Front::Gemini, _) => "/v1beta/models/{model}:generateContent",
        },
        Endpoint::Count { front, .. } => match front {
            Front::Gemini => "/v1beta/models/{model}:countTokens",
            Front::Responses => "/v1/responses/input_tokens",
            _ => "/v1/messages/count_tokens",
        },
        Endpoint::Models(Front::OllamaChat, _) => "/api/tags",
        Endpoint::Models(Front::Gemini, _) => "/v1beta/models",
        Endpoint::Models(..) => "/v1/models",
        Endpoint::Model(Front::Gemini, _) => "/v1beta/models/{model}",
        Endpoint::Model(..) => "/v1/models/{model}",
        Endpoint::Key(_) => "/v1/key",
        Endpoint::Show => "/api/show",
        Endpoint::Version => "/api/version",
        Endpoint::Running => "/api/ps",
        Endpoint::Embeddings(Front::OllamaChat) => "/api/embed",
        Endpoint::Embeddings(_) => "/v1/embeddings",
        Endpoint::Images(ImageCall::Generations) => "/v1/images/generations",
        Endpoint::Images(ImageCall::Edits) => "/v1/images/edits",
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz => return None,
        Endpoint::WrongMethod(_) | Endpoint::NotFound(..) => return None,
    })
}
