//! The properties of majordomo's built-in providers that a provider of another name needs.
//!
//! A test of the command compares them with the real ones.

use crate::draft::Connection;
use crate::secret::OutputText;

/// Name, kind, address unless it is the kind's own, and usual variable.
pub(crate) type BuiltIn = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
);

pub(crate) const BUILT_IN: [BuiltIn; 14] = [
    ("openai", "openai", None, Some("OPENAI_API_KEY")),
    ("anthropic", "anthropic", None, Some("ANTHROPIC_API_KEY")),
    ("google", "google", None, Some("GEMINI_API_KEY")),
    ("ollama", "ollama", None, None),
    (
        "openrouter",
        "openai",
        Some("https://openrouter.ai/api/v1"),
        Some("OPENROUTER_API_KEY"),
    ),
    (
        "groq",
        "openai",
        Some("https://api.groq.com/openai/v1"),
        Some("GROQ_API_KEY"),
    ),
    (
        "deepseek",
        "openai",
        Some("https://api.deepseek.com/v1"),
        Some("DEEPSEEK_API_KEY"),
    ),
    (
        "xai",
        "openai",
        Some("https://api.x.ai/v1"),
        Some("XAI_API_KEY"),
    ),
    (
        "mistral",
        "openai",
        Some("https://api.mistral.ai/v1"),
        Some("MISTRAL_API_KEY"),
    ),
    (
        "together",
        "openai",
        Some("https://api.together.xyz/v1"),
        Some("TOGETHER_API_KEY"),
    ),
    (
        "fireworks",
        "openai",
        Some("https://api.fireworks.ai/inference/v1"),
        Some("FIREWORKS_API_KEY"),
    ),
    ("lmstudio", "openai", Some("http://localhost:1234/v1"), None),
    ("vllm", "openai", Some("http://localhost:8000/v1"), None),
    ("llamacpp", "openai", Some("http://localhost:8080/v1"), None),
];

/// The variable in which majordomo looks for the key of a built-in provider.
pub(crate) fn usual_variable(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|row| row.0 == name)?.3
}

/// Copies kind, address and key of a built-in provider to a connection, so that it works under
/// another name.
pub(crate) fn complete(name: &str, connection: &mut Connection) {
    let Some((_, kind, url, variable)) = BUILT_IN.iter().find(|row| row.0 == name) else {
        return;
    };
    connection.kind = Some(kind);
    if connection.base_url.is_some() {
        return;
    }
    connection.base_url = url.map(OutputText::literal);
    if connection.api_key.is_none() {
        connection.api_key = variable.map(OutputText::variable);
    }
}
