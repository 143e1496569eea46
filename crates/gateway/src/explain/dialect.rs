//! Determines the dialect of a request body: given, or guessed from its fields.

use http::{HeaderMap, Method, Uri};
use majordomo::nearest::{did_you_mean, nearest};
use serde_json::Value;

use super::request::ExplainRequest;
use super::{DialectFrom, bad};
use crate::fronts::{Endpoint, Front, endpoint};
use crate::refusal::Result;

/// The front that would decode the body, and the model named by its path.
pub(super) struct ChosenFront {
    front: Front,
    pub(super) from: DialectFrom,
    pub(super) model: Option<String>,
}

impl std::ops::Deref for ChosenFront {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.front
    }
}

pub(super) fn choose(input: &ExplainRequest) -> Result<ChosenFront> {
    if let Some(path) = &input.path {
        return at(path, &input.headers);
    }
    let (front, from) = match &input.dialect {
        Some(name) => (named(name)?, DialectFrom::Name),
        None => (guess(input)?, DialectFrom::Guess),
    };
    Ok(ChosenFront {
        front,
        from,
        model: None,
    })
}

fn at(path: &str, headers: &HeaderMap) -> Result<ChosenFront> {
    let uri: Uri = path
        .parse()
        .map_err(|_| bad(format!("`{path}` is not a path")))?;
    match endpoint(&Method::POST, &uri, headers) {
        Endpoint::Generate { front, model, .. } | Endpoint::Count { front, model } => {
            Ok(ChosenFront {
                front,
                from: DialectFrom::Path,
                model,
            })
        }
        _ => Err(bad(format!(
            "`{path}` is not an endpoint for requests, such as `/v1/chat/completions`"
        ))),
    }
}

fn named(name: &str) -> Result<Front> {
    match name {
        "chat" | "openai" | "openai-chat" => Ok(Front::Chat),
        "responses" | "openai-responses" => Ok(Front::Responses),
        "messages" | "anthropic" | "anthropic-messages" => Ok(Front::Messages),
        "gemini" | "google" => Ok(Front::Gemini),
        "ollama" | "ollama-chat" => Ok(Front::OllamaChat),
        "generate" => Ok(Front::OllamaGenerate),
        other => {
            let near = nearest(other, ExplainRequest::DIALECTS);
            let known = ExplainRequest::DIALECTS.join(", ");
            Err(bad(format!(
                "`{other}` is not a dialect{}; expected one of {known}",
                did_you_mean(near)
            )))
        }
    }
}

/// Fields that only one of the dialects with `messages` has.
const OF_ANTHROPIC: [&str; 7] = [
    "system",
    "thinking",
    "stop_sequences",
    "context_management",
    "output_config",
    "thread",
    "anthropic_version",
];
const OF_OLLAMA: [&str; 4] = ["options", "keep_alive", "think", "format"];

fn guess(input: &ExplainRequest) -> Result<Front> {
    let body: Value = serde_json::from_slice(&input.body)
        .map_err(|error| bad(format!("the request is not JSON: {error}")))?;
    let has = |field: &str| body.get(field).is_some();
    if has("contents") {
        Ok(Front::Gemini)
    } else if has("messages") {
        Ok(among_messages(&body, &input.headers))
    } else if has("input") || has("previous_response_id") {
        Ok(Front::Responses)
    } else if has("prompt") {
        Ok(Front::OllamaGenerate)
    } else {
        let text = "the dialect of the request cannot be determined; specify its `path`";
        Err(bad(text))
    }
}

/// Three dialects have `messages`; an ambiguous body is OpenAI's.
fn among_messages(body: &Value, headers: &HeaderMap) -> Front {
    let has = |field: &&str| body.get(*field).is_some();
    let each = |field: &str| body[field].as_array().into_iter().flatten();
    let parts = || {
        each("messages")
            .flat_map(|message| message["content"].as_array())
            .flatten()
    };
    let anthropic = headers.contains_key("anthropic-version")
        || OF_ANTHROPIC.iter().any(has)
        || each("tools").any(|tool| tool.get("input_schema").is_some())
        || parts().any(|part| {
            let kind = part["type"].as_str().unwrap_or_default();
            matches!(
                kind,
                "image" | "document" | "tool_use" | "tool_result" | "thinking"
            )
        });
    let ollama = OF_OLLAMA.iter().any(has)
        || each("messages").any(|message| message.get("images").is_some());
    if anthropic {
        Front::Messages
    } else if ollama {
        Front::OllamaChat
    } else {
        Front::Chat
    }
}
