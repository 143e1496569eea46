//! Per-provider settings.

use std::collections::BTreeMap;
use std::fmt;

use ::http::HeaderMap;
use majordomo_llm::Capabilities;
use secrecy::SecretString;

use crate::AnthropicVersion;
use crate::transport::{Timeouts, Transport};

/// Maximum keys of one provider.
pub const MAX_KEYS: usize = 32;

/// A provider's name, endpoint, key and overrides. `None` selects the provider's
/// default.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The provider name in specs.
    pub name: String,
    /// The transport to send with.
    pub transport: Transport,
    /// The base URL.
    pub base_url: Option<String>,
    /// The API key.
    pub key: Option<SecretString>,
    /// Several API keys, used instead of `key`; at most 32. A chain chooses among them.
    pub keys: Vec<SecretString>,
    /// Headers of every request besides those of the dialect. Values may be secret.
    pub headers: HeaderMap,
    /// The timeouts.
    pub timeouts: Option<Timeouts>,
    /// Capability overrides for all models.
    pub limits: CapabilityOverrides,
    /// Capabilities of single models, by id. They disable discovery for the model.
    pub models: BTreeMap<String, Capabilities>,
    /// Whether to discover capabilities, concurrently with the first request to a
    /// model.
    pub discovery: bool,
    /// Anthropic: the API version. A Messages client may select another one.
    pub anthropic_version: AnthropicVersion,
    /// Chat Completions: whether the server supports only `max_tokens`, not
    /// `max_completion_tokens`.
    pub legacy_max_tokens: Option<bool>,
    /// Ollama: the context window of every request, instead of one that is sized to the
    /// requests.
    pub num_ctx: Option<u64>,
    /// Chat Completions: whether to ask for usage in streams on behalf of clients that did
    /// not. `None` asks the servers that are known to accept it.
    pub stream_usage: Option<bool>,
    /// Anthropic: whether to set prompt-cache breakpoints in requests that have none. A
    /// request can override it.
    pub auto_cache: bool,
    /// Whether requests that carry a client credential for the provider's dialect are sent
    /// with it instead of the key.
    pub client_credentials: bool,
    /// Whether the provider gets a request's trace and id. `None` forwards what the client
    /// sent or the gateway records; `true` also sends an id if there is none.
    pub trace: Option<bool>,
}

/// Overrides of assumed or discovered capabilities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapabilityOverrides {
    /// Whether images are supported.
    pub images: Option<bool>,
    /// Whether tools are supported.
    pub tools: Option<bool>,
    /// The context window in tokens.
    pub context: Option<u64>,
}

impl Settings {
    /// Default settings for a provider of this name.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            base_url: None,
            key: None,
            keys: Vec::new(),
            headers: HeaderMap::new(),
            timeouts: None,
            limits: CapabilityOverrides::default(),
            models: BTreeMap::new(),
            discovery: true,
            anthropic_version: AnthropicVersion::default(),
            legacy_max_tokens: None,
            num_ctx: None,
            stream_usage: None,
            auto_cache: false,
            client_credentials: false,
            trace: None,
        }
    }

    /// Sets the base URL.
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

    /// Sets several keys. A chain keeps a conversation with its key, and moves it when that
    /// key is rejected or exhausted.
    #[must_use]
    pub fn keys(mut self, keys: impl IntoIterator<Item = SecretString>) -> Self {
        self.keys = keys.into_iter().collect();
        self
    }

    /// Enables or disables discovery.
    #[must_use]
    pub fn discovery(mut self, on: bool) -> Self {
        self.discovery = on;
        self
    }

    /// Sets the capabilities of one model.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>, capabilities: Capabilities) -> Self {
        self.models.insert(id.into(), capabilities);
        self
    }
}

impl CapabilityOverrides {
    /// Applies the overrides.
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

/// Prints neither the key nor the URL, which may contain a password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("key", &self.key.is_some())
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}
