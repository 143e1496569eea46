//! Finds the endpoint of a request from method, path and headers.

use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;

use super::{Front, ListPage};

/// The endpoint of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Generation; Gemini has model and stream in its path.
    Generate {
        front: Front,
        model: Option<String>,
        stream: StreamMode,
    },
    /// Token counting.
    Count { front: Front, model: Option<String> },
    /// A page of the model list.
    Models(Front, ListPage),
    /// One model.
    Model(Front, String),
    /// One model in Ollama's format.
    Show,
    /// Ollama's version.
    Version,
    /// The models in memory, in Ollama's format.
    Running,
    /// The state of the client's own key.
    Key(Front),
    /// Embeddings, forwarded to a target of the same dialect.
    Embeddings(Front),
    /// Image generation or edits, in OpenAI's dialect.
    Images(ImageCall),
    /// `/`, a text that shows humans that the gateway runs.
    Root,
    /// Liveness probe.
    Healthz,
    /// Readiness probe.
    Readyz,
    /// The path exists with another method.
    WrongMethod(&'static str),
    /// Unknown path; the front whose error format applies.
    NotFound(Front, String),
}

/// The operation on images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageCall {
    /// Generate new ones.
    Generations,
    /// Edit the client's.
    Edits,
}

/// Whether a response is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamMode {
    /// Decided by the body.
    FromBody,
    /// By path: server-sent events.
    Events,
    /// Streamed as one JSON array, by path: Gemini's format without `alt=sse`.
    Array,
    /// By path: not streamed.
    No,
}

/// Prefixes for clients that need distinct base URLs.
const BASES: [(&str, Option<Front>); 4] = [
    ("/openai", Some(Front::Chat)),
    ("/anthropic", Some(Front::Messages)),
    ("/genai", Some(Front::Gemini)),
    ("/ollama", Some(Front::OllamaChat)),
];

/// Finds the endpoint. Paths match exactly, after a base prefix is stripped.
pub(crate) fn endpoint(method: &Method, uri: &Uri, headers: &HeaderMap) -> Endpoint {
    let (path, base) = without_base(uri.path());
    let get = method == Method::GET || method == Method::HEAD;
    let post = method == Method::POST;
    let models = || base.unwrap_or_else(|| models_front(headers, uri));
    let generate = |front| Endpoint::Generate {
        front,
        model: None,
        stream: StreamMode::FromBody,
    };
    let (found, allowed) = match path {
        "" | "/" => (Endpoint::Root, "GET"),
        "/healthz" => (Endpoint::Healthz, "GET"),
        "/readyz" => (Endpoint::Readyz, "GET"),
        "/v1/models" => (Endpoint::Models(models(), ListPage::of(uri)), "GET"),
        "/v1/key" => (Endpoint::Key(models()), "GET"),
        "/v1beta/models" => (Endpoint::Models(Front::Gemini, ListPage::of(uri)), "GET"),
        "/api/tags" => (
            Endpoint::Models(Front::OllamaChat, ListPage::default()),
            "GET",
        ),
        "/api/version" => (Endpoint::Version, "GET"),
        "/api/ps" => (Endpoint::Running, "GET"),
        "/v1/chat/completions" => (generate(Front::Chat), "POST"),
        "/v1/completions" => (generate(Front::TextCompletions), "POST"),
        "/v1/responses" => (generate(Front::Responses), "POST"),
        "/v1/responses/compact" => (generate(Front::Compaction), "POST"),
        "/v1/messages" => (generate(Front::Messages), "POST"),
        "/v1/responses/input_tokens" => (
            Endpoint::Count {
                front: Front::Responses,
                model: None,
            },
            "POST",
        ),
        "/v1/messages/count_tokens" => (
            Endpoint::Count {
                front: Front::Messages,
                model: None,
            },
            "POST",
        ),
        "/api/chat" => (generate(Front::OllamaChat), "POST"),
        "/api/generate" => (generate(Front::OllamaGenerate), "POST"),
        "/api/show" => (Endpoint::Show, "POST"),
        "/v1/embeddings" => (Endpoint::Embeddings(Front::Chat), "POST"),
        "/v1/images/generations" => (Endpoint::Images(ImageCall::Generations), "POST"),
        "/v1/images/edits" => (Endpoint::Images(ImageCall::Edits), "POST"),
        "/api/embed" => (Endpoint::Embeddings(Front::OllamaChat), "POST"),
        _ => match below_models(path, uri, post, models()) {
            Some(found) => found,
            None => {
                let front = base.unwrap_or(error_front(path, headers));
                return Endpoint::NotFound(front, uri.path().to_owned());
            }
        },
    };
    match allowed {
        "GET" if get => found,
        "POST" if post => found,
        allowed => Endpoint::WrongMethod(allowed),
    }
}

/// `/v1/models/{id}` and Gemini's methods, where the model is everything up to the last
/// colon: its name may contain slashes, colons and commas. Vercel's AI SDK takes a name with a
/// slash for a whole resource, like `tunedModels/x`, and omits `models/`.
fn below_models(
    path: &str,
    uri: &Uri,
    post: bool,
    models: Front,
) -> Option<(Endpoint, &'static str)> {
    let (beta, rest) = match path.strip_prefix("/v1/models/") {
        Some(rest) => (false, rest),
        None => match path.strip_prefix("/v1beta/models/") {
            Some(rest) => (true, rest),
            None => (true, path.strip_prefix("/v1beta/").filter(|_| post)?),
        },
    };
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let front = if beta { Front::Gemini } else { models };
    if !post {
        return Some((Endpoint::Model(front, decoded(rest)), "GET"));
    }
    let (model, call) = rest.rsplit_once(':')?;
    let model = Some(decoded(model)).filter(|model| !model.is_empty())?;
    let generate = |stream| Endpoint::Generate {
        front: Front::Gemini,
        model: Some(model.clone()),
        stream,
    };
    let found = match call {
        "generateContent" => generate(StreamMode::No),
        "streamGenerateContent" if wants_events(uri) => generate(StreamMode::Events),
        "streamGenerateContent" => generate(StreamMode::Array),
        "countTokens" => Endpoint::Count {
            front: Front::Gemini,
            model: Some(model),
        },
        _ => return None,
    };
    Some((found, "POST"))
}

fn wants_events(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair == "alt=sse")
}

fn without_base(path: &str) -> (&str, Option<Front>) {
    for (base, front) in BASES {
        if let Some(rest) = path.strip_prefix(base)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return (rest, front);
        }
    }
    (path, None)
}

/// Three vendors list models at the same path; headers distinguish them.
fn models_front(headers: &HeaderMap, uri: &Uri) -> Front {
    let google = headers.contains_key("x-goog-api-key") || has_key(uri);
    if headers.contains_key("anthropic-version") {
        Front::Messages
    } else if google {
        Front::Gemini
    } else {
        Front::Chat
    }
}

fn has_key(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair.starts_with("key="))
}

/// The front whose error format fits an unknown path.
fn error_front(path: &str, headers: &HeaderMap) -> Front {
    if path.starts_with("/api/") {
        Front::OllamaChat
    } else if path.starts_with("/v1beta/") {
        Front::Gemini
    } else if headers.contains_key("anthropic-version") {
        Front::Messages
    } else {
        Front::Chat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(method: &str, uri: &str, headers: &[(&'static str, &'static str)]) -> Endpoint {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        endpoint(&method.parse().unwrap(), &uri.parse().unwrap(), &map)
    }

    fn gemini(model: &str, stream: StreamMode) -> Endpoint {
        Endpoint::Generate {
            front: Front::Gemini,
            model: Some(model.into()),
            stream,
        }
    }

    #[test]
    fn a_model_name_in_a_path_may_contain_slashes_colons_and_commas() {
        for (path, model) in [
            ("/v1beta/models/gemini-3:generateContent", "gemini-3"),
            ("/v1/models/gemini-3:generateContent", "gemini-3"),
            ("/v1beta/models/a/b:7b:generateContent", "a/b:7b"),
            ("/v1beta/models/a%2Fb%3A7b:generateContent", "a/b:7b"),
            (
                "/v1beta/models/a/x,b/y,deep:generateContent",
                "a/x,b/y,deep",
            ),
            ("/genai/v1beta/models/m:generateContent", "m"),
            ("/v1beta/a/b:7b:generateContent", "a/b:7b"),
        ] {
            assert_eq!(
                find("POST", path, &[]),
                gemini(model, StreamMode::No),
                "{path}"
            );
        }
        let found = find("GET", "/v1/models/ollama/qwen3:30b", &[]);
        assert_eq!(
            found,
            Endpoint::Model(Front::Chat, "ollama/qwen3:30b".into())
        );
    }

    #[test]
    fn gemini_streams_server_sent_events_only_with_alt_sse() {
        let path = "/v1beta/models/m:streamGenerateContent";
        assert_eq!(find("POST", path, &[]), gemini("m", StreamMode::Array));
        let sse = format!("{path}?key=x&alt=sse");
        assert_eq!(find("POST", &sse, &[]), gemini("m", StreamMode::Events));
    }

    #[test]
    fn headers_distinguish_the_vendors_that_share_the_models_path() {
        let list = |headers: &[_]| find("GET", "/v1/models", headers);
        assert_eq!(
            list(&[]),
            Endpoint::Models(Front::Chat, ListPage::default())
        );
        let anthropic = [("anthropic-version", "2023-06-01")];
        assert_eq!(
            list(&anthropic),
            Endpoint::Models(Front::Messages, ListPage::default())
        );
        let google = [("x-goog-api-key", "k")];
        assert_eq!(
            list(&google),
            Endpoint::Models(Front::Gemini, ListPage::default())
        );
        let based = find("GET", "/anthropic/v1/models", &[]);
        assert_eq!(
            based,
            Endpoint::Models(Front::Messages, ListPage::default())
        );
    }

    #[test]
    fn paths_are_exact_and_methods_are_checked() {
        for path in [
            "/v1//chat/completions",
            "/V1/models",
            "/v1/chat",
            "/openaix/",
            "/v1beta/files",
            "/v1beta/cachedContents:create",
        ] {
            let found = find("POST", path, &[]);
            assert!(matches!(found, Endpoint::NotFound(..)), "{path}: {found:?}");
        }
        let found = find("GET", "/v1beta/files/x", &[]);
        assert!(matches!(found, Endpoint::NotFound(..)), "{found:?}");
        let found = find("GET", "/v1/messages", &[]);
        assert_eq!(found, Endpoint::WrongMethod("POST"));
        assert_eq!(find("HEAD", "/", &[]), Endpoint::Root);
        assert_eq!(find("GET", "/ollama", &[]), Endpoint::Root);
    }
}
