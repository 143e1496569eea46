//! The kinds of providers, by the names that configurations and DSNs use.

use std::str::FromStr;
use std::sync::Arc;

use majordomo_llm::{Error, ErrorKind, Result};

use crate::anthropic::Anthropic;
use crate::google::Google;
use crate::ollama::{Flavour, Ollama};
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
    /// OpenAI's Chat Completions, and every server that speaks them.
    OpenAi,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages, and servers that speak them.
    Anthropic,
    /// Google's Gemini.
    Google,
    /// An Ollama on this machine or in reach.
    Ollama,
    /// Ollama's own cloud.
    OllamaCloud,
    /// A queue before an Ollama.
    Foreman,
    /// A llama-swap, which loads models on demand.
    LlamaSwap,
}

impl ProviderKind {
    /// All of them.
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

    /// Its name in a configuration, and its scheme in a DSN.
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

    /// The variables that hold its key.
    pub fn key_variables(self) -> &'static [&'static str] {
        self.recipe().key_variables()
    }

    /// A provider of this kind. A missing key shows when it is used; only an
    /// address that is none is refused here.
    pub fn provider(self, settings: Settings) -> Result<HttpProvider> {
        let recipe: Arc<dyn Recipe> = match self {
            Self::OpenAi => Arc::new(OpenAi::chat().with(&settings)),
            Self::LlamaSwap => Arc::new(OpenAi::llama_swap().with(&settings)),
            Self::Anthropic => Arc::new(Anthropic {
                version: settings.anthropic_version,
            }),
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
            Self::Ollama => Arc::new(Ollama(Flavour::Local)),
            Self::OllamaCloud => Arc::new(Ollama(Flavour::Cloud)),
            Self::Foreman => Arc::new(Ollama(Flavour::Foreman)),
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
