//! OpenAI, and servers that speak its dialects.

use majordomo_llm::{Capabilities, Dialect, ImageLimits, Request, Result};
use majordomo_wire::{Outgoing, Protocol};
use secrecy::SecretString;

use crate::Settings;
use crate::compatible::Tells;
use crate::discovery::{Knowledge, Question};
use crate::estimate::{ImageTokens, TokenRule};
use crate::openai_models::{image_limits, image_tokens, text_tokens};
use crate::quirks::{self, Quirk};
use crate::recipe::Recipe;
use crate::transport::{Credential, Timeouts};

/// One recipe for everything that speaks Chat Completions or Responses.
pub(crate) struct OpenAi {
    protocol: Protocol,
    base_url: Option<&'static str>,
    key_variables: &'static [&'static str],
    images: fn() -> Option<ImageLimits>,
    /// Whether the models are OpenAI's own, about which more is known.
    own_models: bool,
    tells: Tells,
    /// Only the old `max_tokens` is known.
    legacy_max_tokens: bool,
    /// What goes before `/chat/completions` and `/models`.
    prefix: &'static str,
    patient: bool,
    quirk: Quirk,
}

impl OpenAi {
    /// OpenAI's Chat Completions.
    pub(crate) fn chat() -> Self {
        Self {
            protocol: Protocol::Chat,
            base_url: Some("https://api.openai.com/v1"),
            key_variables: &["OPENAI_API_KEY"],
            images: || None,
            own_models: true,
            tells: Tells::Nothing,
            legacy_max_tokens: false,
            prefix: "",
            patient: false,
            quirk: quirks::none,
        }
    }

    /// OpenAI's Responses.
    pub(crate) fn responses() -> Self {
        Self {
            protocol: Protocol::Responses,
            ..Self::chat()
        }
    }

    /// llama-swap: Chat Completions below `/v1`, models that load while one waits.
    pub(crate) fn llama_swap() -> Self {
        Self {
            base_url: None,
            key_variables: &[],
            images: local_images,
            own_models: false,
            legacy_max_tokens: true,
            prefix: "/v1",
            patient: true,
            ..Self::chat()
        }
    }

    /// The same, with the exceptions that a user knows of.
    pub(crate) fn with(self, settings: &Settings) -> Self {
        let legacy = settings.legacy_max_tokens;
        Self {
            legacy_max_tokens: legacy.unwrap_or(self.legacy_max_tokens),
            ..self
        }
    }

    /// A server that is known by name.
    pub(crate) fn compatible(service: &crate::Compatible) -> Self {
        Self {
            base_url: Some(service.base_url),
            key_variables: service.key_variables,
            images: service.images,
            own_models: false,
            tells: service.tells,
            legacy_max_tokens: service.legacy_max_tokens,
            patient: service.local,
            quirk: service.quirk,
            ..Self::chat()
        }
    }
}

impl Recipe for OpenAi {
    fn protocol(&self) -> Protocol {
        self.protocol
    }

    fn base_url(&self) -> Option<String> {
        self.base_url.map(str::to_owned)
    }

    fn path(&self, _model: &str, _request: &Request, _stream: bool) -> String {
        let call = match self.protocol {
            Protocol::Responses => "/responses",
            _ => "/chat/completions",
        };
        format!("{}{call}", self.prefix)
    }

    fn models_path(&self) -> &'static str {
        if self.prefix.is_empty() {
            "/models"
        } else {
            "/v1/models"
        }
    }

    fn embeddings_path(&self, dialect: &Dialect) -> Option<&'static str> {
        let path = if self.prefix.is_empty() {
            "/embeddings"
        } else {
            "/v1/embeddings"
        };
        (*dialect == Protocol::Chat.dialect()).then_some(path)
    }

    fn key_variables(&self) -> &'static [&'static str] {
        self.key_variables
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::bearer(key)
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        let images = match self.own_models {
            true => Some(image_limits(model)),
            false => (self.images)(),
        };
        Capabilities {
            images,
            ..Capabilities::default()
        }
    }

    fn question(&self, _model: &str) -> Option<Question> {
        match self.tells {
            Tells::Nothing => None,
            Tells::Props => Some(Question::llamacpp_props()),
            Tells::List => Some(Question::list()),
        }
    }

    fn tokens(&self, model: &str) -> TokenRule {
        match self.own_models {
            true => TokenRule {
                text: text_tokens(model),
                image: image_tokens(model),
            },
            false => TokenRule {
                image: ImageTokens::Unknown,
                ..TokenRule::default()
            },
        }
    }

    fn timeouts(&self) -> Timeouts {
        if self.patient {
            Timeouts::patient()
        } else {
            Timeouts::default()
        }
    }

    fn prepare(&self, request: Request, _model: &str) -> Request {
        (self.quirk)(request)
    }

    /// Answers are not left with the provider unless somebody asks for it.
    fn write<'a>(&self, to: Outgoing<'a>, _: &Request, _: &Knowledge) -> Outgoing<'a> {
        Outgoing {
            legacy_max_tokens: self.legacy_max_tokens,
            store: Some(false),
            ..to
        }
    }
}

/// What every local server's decoder takes.
pub(crate) fn local_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        types: types(&["image/png", "image/jpeg"]),
        ..ImageLimits::default()
    })
}

pub(crate) fn types(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
