//! What a user may say about a provider.

use std::collections::BTreeMap;
use std::fmt;

use majordomo_llm::Capabilities;
use secrecy::SecretString;

use crate::AnthropicVersion;
use crate::transport::{Timeouts, Transport};

/// A provider's name, address, key and exceptions. Unset is the provider's default.
#[derive(Clone)]
pub struct Settings {
    /// The name that specs use.
    pub name: String,
    /// The client to send with.
    pub transport: Transport,
    /// Where the provider is.
    pub base_url: Option<String>,
    /// Its key.
    pub key: Option<SecretString>,
    /// How long its answers may take.
    pub timeouts: Option<Timeouts>,
    /// What the defaults get wrong for all of its models.
    pub limits: CapabilityOverrides,
    /// What they get wrong for one model, by id. The server is not asked then.
    pub models: BTreeMap<String, Capabilities>,
    /// Whether servers that can tell what a model takes are asked for it, beside
    /// the first request to the model.
    pub discovery: bool,
    /// For Anthropic: the version of its API. A client of the same dialect that
    /// names another one is heard.
    pub anthropic_version: AnthropicVersion,
    /// For servers that speak Chat Completions: whether only the old `max_tokens`
    /// is known there, and not `max_completion_tokens`.
    pub legacy_max_tokens: Option<bool>,
}

/// Corrections to what a provider is thought to take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilityOverrides {
    /// Whether it takes images.
    pub images: Option<bool>,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Its context window in tokens.
    pub context: Option<u64>,
}

impl Settings {
    /// A provider of this name with its defaults.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            base_url: None,
            key: None,
            timeouts: None,
            limits: CapabilityOverrides::default(),
            models: BTreeMap::new(),
            discovery: true,
            anthropic_version: AnthropicVersion::default(),
            legacy_max_tokens: None,
        }
    }

    /// Sets the address.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: Option<SecretString>) -> Self {
        self.key = key;
        self
    }

    /// Says whether servers are asked what their models take.
    #[must_use]
    pub fn discovery(mut self, on: bool) -> Self {
        self.discovery = on;
        self
    }

    /// Corrects what one model takes.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>, capabilities: Capabilities) -> Self {
        self.models.insert(id.into(), capabilities);
        self
    }
}

impl CapabilityOverrides {
    /// Lets the corrections overrule what is assumed.
    pub fn apply(&self, capabilities: &mut Capabilities) {
        match self.images {
            Some(false) => capabilities.images = None,
            Some(true) => {
                capabilities.images.get_or_insert_default();
            }
            None => {}
        }
        if let Some(tools) = self.tools {
            capabilities.tools = tools;
        }
        if let Some(context) = self.context {
            capabilities.context_window = Some(context);
        }
    }
}

/// The key cannot be printed, and the address may hold a password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("key", &self.key.is_some())
            .finish_non_exhaustive()
    }
}
