//! The called target, in terms of the semantic conventions.

use majordomo::llm::Dialect;
use majordomo::{ModelExt, Registry};
use majordomo_wire::Protocol;

use super::attributes::Attributes;
use super::names;

/// Services by host suffix, with their name in the conventions or a well-known one.
const SERVICES: [(&str, &str); 13] = [
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "x_ai"),
    ("api.cohere.com", "cohere"),
    ("api.perplexity.ai", "perplexity"),
    ("openrouter.ai", "openrouter"),
];

/// A target's attributes.
pub(super) struct UpstreamAttributes<'a> {
    pub(super) model: &'a str,
    pub(super) provider: String,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
}

impl<'a> UpstreamAttributes<'a> {
    /// Resolves `provider/model`.
    pub(super) fn of(target: &'a str, registry: &Registry) -> Self {
        let (name, model) = target.split_once('/').unwrap_or((target, target));
        let provider = registry.provider(name).ok();
        let url = provider.as_ref().and_then(|provider| provider.base_url());
        let uri = url.and_then(|url| url.parse::<http::Uri>().ok());
        let host = uri.as_ref().and_then(http::Uri::host);
        let port = uri.as_ref().and_then(|uri| {
            let usual = match uri.scheme_str() {
                Some("https") => Some(443),
                Some("http") => Some(80),
                _ => None,
            };
            uri.port_u16().or(usual)
        });
        let dialect = || {
            let model = provider.as_ref()?.model(model).ok()?;
            by_dialect(&model.dialect()?)
        };
        let known = host.and_then(by_host).or_else(dialect);
        Self {
            model,
            provider: known.unwrap_or(name).to_owned(),
            host: host.map(str::to_owned),
            port,
        }
    }

    /// The operation name, unless it is embeddings.
    pub(super) fn operation(&self) -> &'static str {
        match &*self.provider {
            "gcp.gemini" | "gcp.vertex_ai" => "generate_content",
            _ => "chat",
        }
    }

    /// Sets provider, model and address.
    pub(super) fn write_to(&self, attributes: &mut Attributes) {
        attributes.set(names::PROVIDER, self.provider.clone());
        attributes.set(names::REQUEST_MODEL, self.model.to_owned());
        attributes.set_known(names::SERVER_ADDRESS, self.host.clone());
        attributes.set_known(names::SERVER_PORT, self.port.map(i64::from));
    }
}

fn by_host(host: &str) -> Option<&'static str> {
    let named = SERVICES.iter().find(|(end, _)| {
        let before = host.strip_suffix(end);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '-']))
    });
    named.map(|(_, name)| *name)
}

/// A self-hosted server is identified by its dialect.
fn by_dialect(dialect: &Dialect) -> Option<&'static str> {
    Protocol::of(dialect).map(|protocol| match protocol {
        Protocol::Chat | Protocol::Responses => "openai",
        Protocol::Messages => "anthropic",
        Protocol::Gemini => "gcp.gemini",
        Protocol::Ollama => "ollama",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_identified_by_host_and_not_by_lookalikes() {
        let rows = [
            ("api.openai.com", Some("openai")),
            ("mine.openai.azure.com", Some("azure.ai.openai")),
            (
                "us-central1-aiplatform.googleapis.com",
                Some("gcp.vertex_ai"),
            ),
            ("notapi.openai.com", None),
            ("api.openai.com.evil.example", None),
            ("localhost", None),
        ];
        for (host, expected) in rows {
            assert_eq!(by_host(host), expected, "{host}");
        }
    }

    #[tokio::test]
    async fn a_target_is_identified_by_service_then_dialect_then_name() {
        let registry = Registry::builder()
            .environment(
                [("LLM_BOX", "foreman+http://token@box.example:9000")]
                    .map(|(name, dsn)| (name.to_owned(), dsn.to_owned()))
                    .into(),
            )
            .builtins()
            .build();
        let rows = [
            (
                "google/gemini-3",
                "gcp.gemini",
                "generate_content",
                Some(443),
            ),
            ("xai/grok-5", "x_ai", "chat", Some(443)),
            ("vllm/a/b", "openai", "chat", Some(8_000)),
            ("box/qwen3:30b", "ollama", "chat", Some(9_000)),
            ("unknown/m", "unknown", "chat", None),
        ];
        for (target, provider, operation, port) in rows {
            let upstream = UpstreamAttributes::of(target, &registry);
            assert_eq!(upstream.provider, provider, "{target}");
            assert_eq!(upstream.operation(), operation, "{target}");
            assert_eq!(upstream.port, port, "{target}");
            assert!(target.ends_with(upstream.model), "{target}");
        }
    }
}
