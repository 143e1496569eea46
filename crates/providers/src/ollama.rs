//! Recipe for Ollama: local, in its cloud, and behind a foreman.
//!
//! # Wire shapes
//!
//! Checked on 2026-11-15 against the sources of Ollama 0.34.4 (2026-09-23) and 0.17.4
//! (2026-02-27), and recorded exchanges.
//!
//! `POST {base}/api/chat`; in the cloud with `Authorization: Bearer`:
//!
//! | canonical | Ollama |
//! |---|---|
//! | instructions | one message of role `system`, at the front |
//! | text, image | `content` is a string, `images[]` is base64 without a prefix |
//! | reasoning | `thinking` |
//! | tool | `tools[].function{name,description,parameters}` |
//! | tool call | `tool_calls[]{id?,function{name,arguments}}`; `arguments` is an object |
//! | tool result | a message of role `tool` with `tool_name` and `tool_call_id`; an error is prefixed `ERROR: ` |
//! | tool choice | none |
//! | output schema | `format`, a schema or `"json"`; the cloud ignores it, so the schema is also an instruction |
//! | effort | `think`: a boolean or a level |
//! | token limit | `options.num_predict`; the window is `options.num_ctx` |
//! | stream | one JSON object per line, ended by `done: true`; the default, so `stream` is always sent |
//! | usage | `prompt_eval_count`, `eval_count` |
//! | finish | `done_reason`; calls end with `stop` |
//! | error | `{"error":"text"}`, also as a line of a stream |
//!
//! A foreman speaks the same protocol and sends a stream's response as one object.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use majordomo_llm::{Capabilities, Dialect, ImageLimits, Request, Result};
use majordomo_wire::{EmbeddingProtocol, Outgoing, Protocol, ollama};
use secrecy::SecretString;

use crate::discovery::{DiscoveryRequest, ModelTraits};
use crate::estimate::{TokenRule, estimate_tokens};
use crate::image_types::media_types;
use crate::images_api::{EmbeddingsApi, batch_limits};
use crate::recipe::Recipe;
use crate::settings::Settings;
use crate::transport::{Credential, Timeouts};

pub(crate) struct Ollama {
    variant: OllamaVariant,
    windows: ContextWindows,
}

impl Ollama {
    pub(crate) fn new(variant: OllamaVariant) -> Self {
        Self {
            variant,
            windows: ContextWindows::default(),
        }
    }

    pub(crate) fn with_settings(mut self, settings: &Settings) -> Self {
        self.windows.fixed = settings.num_ctx;
        self
    }
}

/// Where the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OllamaVariant {
    Local,
    Cloud,
    /// A queue in front of one Ollama server; it does not stream.
    Foreman,
}

impl Recipe for Ollama {
    fn protocol(&self) -> Protocol {
        Protocol::Ollama
    }

    fn base_url(&self) -> Option<String> {
        match self.variant {
            OllamaVariant::Local => Some("http://localhost:11434".into()),
            OllamaVariant::Cloud => Some("https://ollama.com".into()),
            OllamaVariant::Foreman => None,
        }
    }

    /// A client's `generate` request stays a `generate` request if possible.
    fn path(&self, _model: &str, request: &Request, _stream: bool) -> String {
        match ollama::endpoint(request.prompt()) {
            ollama::OllamaEndpoint::Chat => "/api/chat".into(),
            ollama::OllamaEndpoint::Generate => "/api/generate".into(),
        }
    }

    fn models_path(&self) -> &'static str {
        "/api/tags"
    }

    fn embeddings_path(&self, dialect: &Dialect) -> Option<&'static str> {
        (*dialect == Protocol::Ollama.dialect()).then_some("/api/embed")
    }

    fn embeddings_api(&self, _model: &str) -> Option<EmbeddingsApi> {
        Some(EmbeddingsApi {
            protocol: EmbeddingProtocol::Ollama,
            path: "/api/embed".to_owned(),
            limits: batch_limits(256, 1_000_000),
        })
    }

    fn key_variables(&self) -> &'static [&'static str] {
        match self.variant {
            OllamaVariant::Cloud => &["OLLAMA_API_KEY"],
            OllamaVariant::Local | OllamaVariant::Foreman => &[],
        }
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::bearer(key)
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let images = ImageLimits::default()
            .with_max_count(Some(8))
            .with_types(media_types(&["image/png", "image/jpeg"]));
        Capabilities::default().with_images(Some(images))
    }

    /// A foreman would queue the discovery request.
    fn discovery_request(&self, model: &str) -> Option<DiscoveryRequest> {
        (self.variant != OllamaVariant::Foreman).then(|| DiscoveryRequest::ollama_show(model))
    }

    /// Model loading and queueing take arbitrarily long: only the caller's deadline
    /// limits them.
    fn timeouts(&self) -> Timeouts {
        Timeouts::for_model_loading()
    }

    fn encoding<'a>(
        &self,
        to: Outgoing<'a>,
        request: &Request,
        traits: &ModelTraits,
    ) -> Outgoing<'a> {
        let max = traits.capabilities.context_window;
        let num_ctx =
            (self.variant != OllamaVariant::Cloud).then(|| self.windows.of(to.model, request, max));
        Outgoing {
            ollama: ollama::OllamaTarget {
                num_ctx,
                refuse_overlong: true,
                schema_in_words: self.variant == OllamaVariant::Cloud,
                thinking: traits.thinking,
            },
            ..to
        }
    }
}

/// Output tokens to reserve if the request has no `max_tokens`.
const DEFAULT_OUTPUT: u64 = 4_096;
const MIN_WINDOW: u64 = 4_096;

/// The context windows of a server's models.
///
/// A server reloads a model whose window changes, which takes seconds. Agents send small
/// requests beside large ones, so a model's window grows and never shrinks.
#[derive(Debug, Default)]
struct ContextWindows {
    /// The window for all requests, if configured.
    fixed: Option<u64>,
    largest: Mutex<HashMap<String, u64>>,
}

/// Maximum models whose windows are cached; clients may name any model.
const MAX_MODELS: usize = 1_024;

impl ContextWindows {
    fn of(&self, model: &str, request: &Request, max: Option<u64>) -> u64 {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let wanted = context_window(request, max);
        let mut largest = self.largest.lock().unwrap_or_else(PoisonError::into_inner);
        if largest.len() >= MAX_MODELS && !largest.contains_key(model) {
            largest.clear();
        }
        let window = largest.entry(model.to_owned()).or_insert(wanted);
        *window = wanted.max(*window).min(max.unwrap_or(u64::MAX));
        *window
    }
}

/// The context window to request: Ollama's default is small, and it truncates
/// longer prompts silently. A power of two, so that a growing conversation seldom
/// reloads the model.
fn context_window(request: &Request, max: Option<u64>) -> u64 {
    let prompt = estimate_tokens(request, &TokenRule::default());
    // For text other than English the estimate may be low by a quarter.
    let wanted = prompt + prompt / 4 + request.prompt().max_tokens.unwrap_or(DEFAULT_OUTPUT);
    let window = wanted.max(MIN_WINDOW).next_power_of_two();
    window.min(max.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_a_model_grows_and_never_shrinks() {
        let windows = ContextWindows::default();
        let of = |model: &str, tokens: usize, max| {
            windows.of(model, &Request::user("word".repeat(tokens)), max)
        };
        assert_eq!(of("a", 10, None), 8_192);
        assert_eq!(of("a", 20_000, None), 32_768);
        assert_eq!(of("a", 10, None), 32_768, "a side request keeps the window");
        assert_eq!(of("b", 10, None), 8_192, "each model has its own");
        assert_eq!(of("a", 10, Some(16_384)), 16_384, "the model's limit holds");
        let fixed = ContextWindows {
            fixed: Some(65_536),
            ..ContextWindows::default()
        };
        assert_eq!(fixed.of("a", &Request::user("hi"), Some(8_192)), 65_536);
        for model in 0..2 * MAX_MODELS {
            windows.of(&model.to_string(), &Request::user("hi"), None);
        }
        assert!(windows.largest.lock().unwrap().len() <= MAX_MODELS);
    }

    #[test]
    fn the_window_holds_prompt_and_output_up_to_the_models_limit() {
        let prompt = |tokens: usize| Request::user("word".repeat(tokens));
        assert_eq!(context_window(&prompt(10), None), 8_192);
        assert_eq!(context_window(&prompt(10).max_tokens(100), None), 4_096);
        assert_eq!(context_window(&prompt(20_000), None), 32_768);
        assert_eq!(context_window(&prompt(20_000), Some(16_384)), 16_384);
    }
}
