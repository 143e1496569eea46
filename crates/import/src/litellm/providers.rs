//! LiteLLM's providers and their counterparts.

/// The equivalent of a LiteLLM provider in majordomo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counterpart {
    /// A built-in provider, and the variable of LiteLLM if it is another one.
    BuiltIn(&'static str, Option<&'static str>),
    /// A known address that speaks Chat Completions, and its variable.
    Compatible(&'static str, &'static str),
    /// A server of the user's, at `api_base`.
    OwnServer,
    /// Azure's OpenAI service.
    Azure,
    /// A provider that needs a protocol or a signature that majordomo does not have.
    Unsupported,
}

use Counterpart::{Azure, BuiltIn, Compatible, OwnServer, Unsupported};

const PROVIDERS: &[(&str, Counterpart)] = &[
    ("openai", BuiltIn("openai", None)),
    ("text-completion-openai", BuiltIn("openai", None)),
    ("anthropic", BuiltIn("anthropic", None)),
    ("gemini", BuiltIn("google", None)),
    ("ollama", BuiltIn("ollama", None)),
    ("ollama_chat", BuiltIn("ollama", None)),
    ("openrouter", BuiltIn("openrouter", None)),
    ("groq", BuiltIn("groq", None)),
    ("deepseek", BuiltIn("deepseek", None)),
    ("xai", BuiltIn("xai", None)),
    ("mistral", BuiltIn("mistral", None)),
    (
        "together_ai",
        BuiltIn("together", Some("TOGETHERAI_API_KEY")),
    ),
    (
        "fireworks_ai",
        BuiltIn("fireworks", Some("FIREWORKS_AI_API_KEY")),
    ),
    ("lm_studio", BuiltIn("lmstudio", None)),
    ("vllm", BuiltIn("vllm", None)),
    ("hosted_vllm", BuiltIn("vllm", None)),
    ("llamafile", BuiltIn("llamacpp", None)),
    (
        "perplexity",
        Compatible("https://api.perplexity.ai", "PERPLEXITYAI_API_KEY"),
    ),
    (
        "cerebras",
        Compatible("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    ),
    (
        "sambanova",
        Compatible("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    ),
    (
        "deepinfra",
        Compatible("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    ),
    (
        "nvidia_nim",
        Compatible("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY"),
    ),
    (
        "moonshot",
        Compatible("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    ),
    (
        "dashscope",
        Compatible(
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "DASHSCOPE_API_KEY",
        ),
    ),
    (
        "volcengine",
        Compatible(
            "https://ark.cn-beijing.volces.com/api/v3",
            "VOLCENGINE_API_KEY",
        ),
    ),
    (
        "github",
        Compatible("https://models.github.ai/inference", "GITHUB_API_KEY"),
    ),
    (
        "novita",
        Compatible("https://api.novita.ai/v3/openai", "NOVITA_API_KEY"),
    ),
    (
        "hyperbolic",
        Compatible("https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY"),
    ),
    (
        "nebius",
        Compatible("https://api.studio.nebius.ai/v1", "NEBIUS_API_KEY"),
    ),
    (
        "zai",
        Compatible("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    ),
    (
        "codestral",
        Compatible("https://codestral.mistral.ai/v1", "CODESTRAL_API_KEY"),
    ),
    (
        "cohere",
        Compatible("https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    ),
    (
        "cohere_chat",
        Compatible("https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    ),
    (
        "huggingface",
        Compatible("https://router.huggingface.co/v1", "HUGGINGFACE_API_KEY"),
    ),
    (
        "featherless_ai",
        Compatible("https://api.featherless.ai/v1", "FEATHERLESS_AI_API_KEY"),
    ),
    (
        "vercel_ai_gateway",
        Compatible(
            "https://ai-gateway.vercel.sh/v1",
            "VERCEL_AI_GATEWAY_API_KEY",
        ),
    ),
    (
        "minimax",
        Compatible("https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    ),
    ("openai_like", OwnServer),
    ("custom_openai", OwnServer),
    ("litellm_proxy", OwnServer),
    ("xinference", OwnServer),
    ("docker_model_runner", OwnServer),
    ("databricks", OwnServer),
    ("azure_ai", OwnServer),
    ("azure", Azure),
    ("azure_text", Azure),
    ("bedrock", Unsupported),
    ("bedrock_converse", Unsupported),
    ("sagemaker", Unsupported),
    ("sagemaker_chat", Unsupported),
    ("vertex_ai", Unsupported),
    ("vertex_ai_beta", Unsupported),
    ("watsonx", Unsupported),
    ("replicate", Unsupported),
    ("cloudflare", Unsupported),
    ("oci", Unsupported),
    ("snowflake", Unsupported),
    ("github_copilot", Unsupported),
    ("auto_router", Unsupported),
    ("voyage", Unsupported),
    ("jina_ai", Unsupported),
    ("deepgram", Unsupported),
    ("elevenlabs", Unsupported),
    ("triton", Unsupported),
    ("predibase", Unsupported),
];

/// Prefixes of model names that LiteLLM accepts without a provider.
const FAMILIES: [(&str, &str); 9] = [
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("text-embedding-", "openai"),
    ("dall-e", "openai"),
    ("claude-", "anthropic"),
    ("gemini-", "gemini"),
];

/// The provider and the model of `litellm_params.model`.
pub(super) struct Named<'m> {
    pub(super) prefix: &'m str,
    pub(super) model: &'m str,
    pub(super) counterpart: Counterpart,
}

/// Splits a model as LiteLLM does; `given` is `custom_llm_provider`. `None` if the provider
/// is not known.
pub(super) fn named<'m>(model: &'m str, given: Option<&'m str>) -> Option<Named<'m>> {
    let find = |prefix: &str| PROVIDERS.iter().find(|(name, _)| *name == prefix);
    if let Some(prefix) = given {
        let (_, counterpart) = find(prefix)?;
        let own = model.split_once('/').filter(|(first, _)| *first == prefix);
        return Some(Named {
            prefix,
            model: own.map_or(model, |(_, model)| model),
            counterpart: *counterpart,
        });
    }
    if let Some((prefix, rest)) = model.split_once('/')
        && let Some((_, counterpart)) = find(prefix)
    {
        return Some(Named {
            prefix,
            model: rest,
            counterpart: *counterpart,
        });
    }
    let family = FAMILIES.iter().find(|(start, _)| model.starts_with(start));
    let (_, prefix) = family.filter(|_| !model.contains('/'))?;
    let (_, counterpart) = find(prefix)?;
    Some(Named {
        prefix,
        model,
        counterpart: *counterpart,
    })
}
