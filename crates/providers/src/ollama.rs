//! Ollama: on this machine, in its cloud, and behind a foreman.

use majordomo_llm::{Capabilities, Dialect, ImageLimits, Request, Result};
use majordomo_wire::{Outgoing, Protocol, ollama};
use secrecy::SecretString;

use crate::discovery::{Knowledge, Question};
use crate::estimate::{TokenRule, tokens};
use crate::openai::types;
use crate::recipe::Recipe;
use crate::transport::{Credential, Timeouts};

pub(crate) struct Ollama(pub(crate) Flavour);

/// Where the Ollama is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    Local,
    Cloud,
    /// A queue with one Ollama behind it; its answers come in one piece.
    Foreman,
}

impl Recipe for Ollama {
    fn protocol(&self) -> Protocol {
        Protocol::Ollama
    }

    fn base_url(&self) -> Option<String> {
        match self.0 {
            Flavour::Local => Some("http://localhost:11434".into()),
            Flavour::Cloud => Some("https://ollama.com".into()),
            Flavour::Foreman => None,
        }
    }

    /// A client's generate request stays one as long as it can.
    fn path(&self, _model: &str, request: &Request, _stream: bool) -> String {
        match ollama::endpoint(request) {
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

    fn key_variables(&self) -> &'static [&'static str] {
        match self.0 {
            Flavour::Cloud => &["OLLAMA_API_KEY"],
            Flavour::Local | Flavour::Foreman => &[],
        }
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::bearer(key)
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let images = ImageLimits {
            max_count: Some(8),
            types: types(&["image/png", "image/jpeg"]),
            ..ImageLimits::default()
        };
        Capabilities {
            images: Some(images),
            ..Capabilities::default()
        }
    }

    /// A foreman would put the question into its queue.
    fn question(&self, model: &str) -> Option<Question> {
        (self.0 != Flavour::Foreman).then(|| Question::ollama_show(model))
    }

    /// Models load and queues wait: only the caller's deadline counts.
    fn timeouts(&self) -> Timeouts {
        Timeouts::patient()
    }

    fn write<'a>(&self, to: Outgoing<'a>, request: &Request, known: &Knowledge) -> Outgoing<'a> {
        let most = known.capabilities.context_window;
        let num_ctx = (self.0 != Flavour::Cloud).then(|| window(request, most));
        Outgoing {
            ollama: ollama::OllamaTarget {
                num_ctx,
                refuse_overlong: true,
                schema_in_words: self.0 == Flavour::Cloud,
                thinking: known.thinking,
            },
            ..to
        }
    }
}

/// Room for an answer when the request does not say how long it may be.
const USUAL_ANSWER: u64 = 4_096;
const SMALLEST_WINDOW: u64 = 4_096;

/// The context window to ask for: a server left to itself takes a small one and
/// cuts longer prompts in silence. Powers of two, so that a growing conversation
/// does not load the model anew at every turn.
fn window(request: &Request, most: Option<u64>) -> u64 {
    let prompt = tokens(request, &TokenRule::default());
    // The estimate may be low by a quarter for text that is not English.
    let wanted = prompt + prompt / 4 + request.max_tokens.unwrap_or(USUAL_ANSWER);
    let window = wanted.max(SMALLEST_WINDOW).next_power_of_two();
    window.min(most.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_holds_prompt_and_answer_and_is_no_larger_than_the_models() {
        let prompt = |tokens: usize| Request::user("word".repeat(tokens));
        assert_eq!(window(&prompt(10), None), 8_192);
        assert_eq!(window(&prompt(10).max_tokens(100), None), 4_096);
        assert_eq!(window(&prompt(20_000), None), 32_768);
        assert_eq!(window(&prompt(20_000), Some(16_384)), 16_384);
    }
}
