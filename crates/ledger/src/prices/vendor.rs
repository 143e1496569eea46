//! Finds the section of the price table for a provider's models.

/// The vendor that charges for a provider's models.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Vendor {
    /// Runs on the operator's own hardware, at an explicit price of zero.
    Local,
    /// A section of the price table.
    Listed(&'static str),
    /// A vendor whose prices are not in the table.
    Unlisted,
}

/// Kinds and well-known names of providers that run locally.
const LOCAL: &[&str] = &[
    "ollama",
    "foreman",
    "llama-swap",
    "llamacpp",
    "vllm",
    "lmstudio",
    "demo",
];

/// Host suffixes, and their section of the table.
const HOSTS: &[(&str, &str)] = &[
    ("api.anthropic.com", "anthropic"),
    ("api.openai.com", "openai"),
    ("googleapis.com", "google"),
    ("openrouter.ai", "openrouter"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "x-ai"),
    ("api.mistral.ai", "mistral"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("api.cohere.ai", "cohere"),
    ("api.cohere.com", "cohere"),
    ("api.perplexity.ai", "perplexity"),
    ("api.moonshot.ai", "moonshotai"),
    ("api.moonshot.cn", "moonshotai"),
    ("api.minimax.io", "minimax"),
    ("api.minimaxi.com", "minimax"),
    ("api.novita.ai", "novita"),
    ("api.voyageai.com", "voyageai"),
    ("api.z.ai", "zai"),
    ("open.bigmodel.cn", "zhipuai"),
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("amazonaws.com", "aws"),
    ("inference.baseten.co", "baseten"),
    ("api.githubcopilot.com", "github-copilot"),
    ("oai.endpoints.kepler.ai.cloud.ovh.net", "ovhcloud"),
    ("api.arcee.ai", "arcee"),
    ("api.meta.ai", "meta"),
];

impl Vendor {
    /// The vendor of a provider, by the called host, otherwise by its kind or well-known name.
    ///
    /// ```
    /// use majordomo_ledger::Vendor;
    ///
    /// assert_eq!(Vendor::of("ollama", Some("m5.lan")), Vendor::Local);
    /// assert_eq!(Vendor::of("openai", Some("api.x.ai")), Vendor::Listed("x-ai"));
    /// assert_eq!(Vendor::of("openai", Some("llm.example.com")), Vendor::Unlisted);
    /// ```
    pub fn of(kind: &str, host: Option<&str>) -> Self {
        let Some(host) = host else {
            return if LOCAL.contains(&kind) {
                Self::Local
            } else {
                Self::Unlisted
            };
        };
        let host = host.to_ascii_lowercase();
        let ends_with = |end: &str| {
            let before = host.strip_suffix(end);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        if let Some((_, vendor)) = HOSTS.iter().find(|(end, _)| ends_with(end)) {
            return Self::Listed(vendor);
        }
        // Ollama's cloud speaks Ollama's protocol and is not local.
        if LOCAL.contains(&kind) && !ends_with("ollama.com") {
            return Self::Local;
        }
        Self::Unlisted
    }
}
