//! OpenAI, and servers that speak its dialects.

use majordomo_llm::{Capabilities, ImageLimits, Patches, Request, Result};
use majordomo_wire::{Outgoing, Protocol};
use secrecy::SecretString;

use crate::recipe::Recipe;
use crate::transport::{Credential, Timeouts};

/// One recipe for everything that speaks Chat Completions or Responses.
pub(crate) struct OpenAi {
    protocol: Protocol,
    base_url: Option<&'static str>,
    key_variables: &'static [&'static str],
    images: fn() -> Option<ImageLimits>,
    /// Only the old `max_tokens` is known.
    legacy_max_tokens: bool,
    /// What goes before `/chat/completions` and `/models`.
    prefix: &'static str,
    patient: bool,
}

impl OpenAi {
    /// OpenAI's Chat Completions.
    pub(crate) fn chat() -> Self {
        Self {
            protocol: Protocol::Chat,
            base_url: Some("https://api.openai.com/v1"),
            key_variables: &["OPENAI_API_KEY"],
            images: openai_images,
            legacy_max_tokens: false,
            prefix: "",
            patient: false,
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
            legacy_max_tokens: true,
            prefix: "/v1",
            patient: true,
            ..Self::chat()
        }
    }

    /// A server that is known by name.
    pub(crate) fn compatible(service: &crate::Compatible) -> Self {
        Self {
            base_url: Some(service.base_url),
            key_variables: service.key_variables,
            images: service.images,
            legacy_max_tokens: service.legacy_max_tokens,
            patient: service.local,
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

    fn path(&self, _model: &str, _stream: bool) -> String {
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

    fn key_variables(&self) -> &'static [&'static str] {
        self.key_variables
    }

    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::bearer(key)
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        Capabilities {
            images: (self.images)(),
            ..Capabilities::default()
        }
    }

    fn timeouts(&self) -> Timeouts {
        if self.patient {
            Timeouts::patient()
        } else {
            Timeouts::default()
        }
    }

    fn write<'a>(&self, to: Outgoing<'a>, _: &Request, _: &Capabilities) -> Outgoing<'a> {
        Outgoing {
            legacy_max_tokens: self.legacy_max_tokens,
            ..to
        }
    }
}

/// The newest models refuse more than 30,000 patches of 32 px instead of scaling.
fn openai_images() -> Option<ImageLimits> {
    Some(ImageLimits {
        max_count: Some(1_500),
        patches: Some(Patches {
            size: 32,
            max: 30_000,
        }),
        types: types(&["image/png", "image/jpeg", "image/webp", "image/gif"]),
        animations: Some(false),
        ..ImageLimits::default()
    })
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
