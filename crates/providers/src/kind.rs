//! Provider kinds, by the names used in configurations and DSNs.

use std::str::FromStr;
use std::sync::Arc;

use majordomo_llm::{Error, ErrorKind, Result};

use crate::anthropic::Anthropic;
use crate::google::Google;
use crate::ollama::{Ollama, OllamaVariant};
use crate::openai::OpenAi;
use crate::recipe::Recipe;
use crate::{HttpProvider, Settings};

/// A kind of provider.
///
/// ```
/// use majordomo_providers::ProviderKind;
///
/// assert_eq!("ollama-cloud".parse::<ProviderKind>().unwrap(), ProviderKind::OllamaCloud);
/// assert_eq!(ProviderKind::Google.key_variables(), ["GOOGLE_API_KEY", "GEMINI_API_KEY"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// OpenAI Chat Completions and compatible servers.
    OpenAi,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages and compatible servers.
    Anthropic,
    /// Google Gemini.
    Google,
    /// A local or self-hosted Ollama server.
    Ollama,
    /// Ollama's cloud.
    OllamaCloud,
    /// A queue in front of an Ollama server.
    Foreman,
    /// A llama-swap server, which loads models on demand.
    LlamaSwap,
}

impl ProviderKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Google,
        Self::Ollama,
        Self::OllamaCloud,
        Self::Foreman,
        Self::LlamaSwap,
    ];

    /// The name in a configuration and the scheme in a DSN.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::Ollama => "ollama",
            Self::OllamaCloud => "ollama-cloud",
            Self::Foreman => "foreman",
            Self::LlamaSwap => "llama-swap",
        }
    }

    /// The environment variables that may hold the key.
    pub fn key_variables(self) -> &'static [&'static str] {
        self.recipe().key_variables()
    }

    /// Creates a provider. Fails only for an invalid base URL; a missing key
    /// surfaces on use.
    pub fn provider(self, settings: Settings) -> Result<HttpProvider> {
        let recipe: Arc<dyn Recipe> = match self {
            Self::OpenAi => Arc::new(OpenAi::chat().with_settings(&settings)),
            Self::LlamaSwap => Arc::new(OpenAi::llama_swap().with_settings(&settings)),
            Self::Anthropic => Arc::new(Anthropic {
                version: settings.anthropic_version,
            }),
            Self::Ollama => Arc::new(Ollama::new(OllamaVariant::Local).with_settings(&settings)),
            Self::Foreman => Arc::new(Ollama::new(OllamaVariant::Foreman).with_settings(&settings)),
            _ => self.recipe(),
        };
        HttpProvider::new(recipe, settings)
    }

    fn recipe(self) -> Arc<dyn Recipe> {
        match self {
            Self::OpenAi => Arc::new(OpenAi::chat()),
            Self::OpenAiResponses => Arc::new(OpenAi::responses()),
            Self::Anthropic => Arc::new(Anthropic::default()),
            Self::Google => Arc::new(Google),
            Self::Ollama => Arc::new(Ollama::new(OllamaVariant::Local)),
            Self::OllamaCloud => Arc::new(Ollama::new(OllamaVariant::Cloud)),
            Self::Foreman => Arc::new(Ollama::new(OllamaVariant::Foreman)),
            Self::LlamaSwap => Arc::new(OpenAi::llama_swap()),
        }
    }
}

impl FromStr for ProviderKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            let text = format!(
                "there is no provider kind `{name}`; known are {}",
                known.join(", ")
            );
            Error::new(ErrorKind::Spec, text)
        })
    }
}
