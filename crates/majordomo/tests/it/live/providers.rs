//! The providers of the live suite, with the cheapest models that have the tested features.

use std::borrow::Cow;

use majordomo::providers::{HttpProvider, ProviderKind, Settings};
use majordomo::transport::Transport;

/// A provider and its models; `None` if it offers none.
#[derive(Clone)]
pub(super) struct LiveProvider {
    pub(super) name: &'static str,
    pub(super) kind: ProviderKind,
    /// The variable with the key; without one, the address must be given.
    key: Option<&'static str>,
    /// The suffix of a stand-in's base URL.
    pub(super) base_path: &'static str,
    pub(super) chat: Option<Cow<'static, str>>,
    pub(super) image: Option<Cow<'static, str>>,
    pub(super) embedding: Option<Cow<'static, str>>,
}

const fn model(name: &'static str) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(name))
}

pub(super) const LIVE_PROVIDERS: &[LiveProvider] = &[
    LiveProvider {
        name: "openai",
        kind: ProviderKind::OpenAi,
        key: Some("OPENAI_API_KEY"),
        base_path: "/v1",
        chat: model("gpt-6-luna"),
        image: model("gpt-image-1-mini"),
        embedding: model("text-embedding-3-small"),
    },
    LiveProvider {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        key: Some("ANTHROPIC_API_KEY"),
        base_path: "",
        chat: model("claude-haiku-5-5"),
        image: None,
        embedding: None,
    },
    LiveProvider {
        name: "google",
        kind: ProviderKind::Google,
        key: Some("GEMINI_API_KEY"),
        base_path: "",
        chat: model("gemini-3.8-flash"),
        image: model("gemini-3.1-flash-lite-image"),
        embedding: model("gemini-embedding-001"),
    },
    LiveProvider {
        name: "ollama",
        kind: ProviderKind::Ollama,
        key: None,
        base_path: "",
        chat: model("qwen3-vl:4b"),
        image: None,
        embedding: model("nomic-embed-text"),
    },
    LiveProvider {
        name: "llama-swap",
        kind: ProviderKind::LlamaSwap,
        key: None,
        base_path: "",
        chat: model("qwen3-vl"),
        image: model("sdxl"),
        embedding: model("nomic-embed-text"),
    },
];

impl LiveProvider {
    fn variable(&self, what: &str) -> String {
        let name = self.name.to_ascii_uppercase().replace('-', "_");
        format!("MAJORDOMO_LIVE_{name}_{what}")
    }

    /// The variable without which it is skipped.
    pub(super) fn needs(&self) -> String {
        self.key.map_or_else(|| self.variable("URL"), str::to_owned)
    }

    /// The models that variables name.
    pub(super) fn with_variables(&self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut provider = self.clone();
        for (what, model) in [
            ("CHAT", &mut provider.chat),
            ("IMAGE", &mut provider.image),
            ("EMBEDDING", &mut provider.embedding),
        ] {
            if let Some(named) = variable(&self.variable(what)) {
                *model = Some(named.into());
            }
        }
        provider
    }

    /// The provider, or why it is skipped. Discovery would race the calls.
    pub(super) fn build(
        &self,
        transport: Transport,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<HttpProvider, String> {
        let missing = || format!("{} is not set", self.needs());
        let needed = variable(&self.needs()).ok_or_else(missing)?;
        let mut settings = Settings::new(self.name, transport).discovery(false);
        if self.key.is_some() {
            settings = settings.key(Some(needed.into()));
        }
        if let Some(url) = variable(&self.variable("URL")) {
            settings = settings.base_url(url);
        }
        self.kind
            .provider(settings)
            .map_err(|error| error.to_string())
    }
}
