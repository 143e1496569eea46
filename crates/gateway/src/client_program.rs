//! Which program a client is, by its headers: for the operator's page, never for a decision.
//!
//! Any client can send any header. What is unknown stays unknown. Uses no other module.

use http::HeaderMap;
use http::header::USER_AGENT;

/// Programs by the beginning of their user agent, ASCII case ignored.
const BY_AGENT: [(&str, &str); 19] = [
    ("claude-cli/", "Claude Code"),
    ("codex", "Codex"),
    ("GeminiCLI", "Gemini CLI"),
    ("opencode/", "opencode"),
    ("QwenCode/", "Qwen Code"),
    ("qwen-code", "Qwen Code"),
    (OPENAI_PYTHON, "OpenAI SDK (Python)"),
    ("AsyncOpenAI/Python", "OpenAI SDK (Python)"),
    ("OpenAI/JS", "OpenAI SDK (TypeScript)"),
    ("Anthropic/Python", "Anthropic SDK (Python)"),
    ("AsyncAnthropic/Python", "Anthropic SDK (Python)"),
    ("Anthropic/JS", "Anthropic SDK (TypeScript)"),
    ("google-genai-sdk/", "Google Gen AI SDK"),
    ("ollama-python/", "Ollama library (Python)"),
    ("langchain", "LangChain"),
    ("pydantic-ai/", "Pydantic AI"),
    ("litellm/", LITELLM),
    ("curl/", "curl"),
    ("majordomo/", "majordomo"),
];

const OPENAI_PYTHON: &str = "OpenAI/Python";
/// The library that aider calls models with.
const LITELLM: &str = "LiteLLM";
/// Open WebUI names only its HTTP library.
const AIOHTTP: &str = "aiohttp/";

/// The name of the program, if it is known.
pub(crate) fn client_program(headers: &HeaderMap) -> Option<&'static str> {
    let agent = headers.get(USER_AGENT)?.as_bytes();
    let begins = |with: &str| {
        let begin = agent.get(..with.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(with.as_bytes()))
    };
    // LiteLLM calls through OpenAI's SDK, with a timeout that is written in another way.
    if begins(OPENAI_PYTHON) && is(headers, "x-stainless-read-timeout", "600.0") {
        return Some(LITELLM);
    }
    let known = BY_AGENT.iter().find(|(begin, _)| begins(begin));
    let known = known.map(|(_, name)| *name);
    let aiohttp = || {
        agent
            .windows(AIOHTTP.len())
            .any(|part| part == AIOHTTP.as_bytes())
    };
    known.or_else(|| aiohttp().then_some("aiohttp"))
}

fn is(headers: &HeaderMap, name: &str, value: &str) -> bool {
    headers.get(name).is_some_and(|found| found == value)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let pairs = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        client_program(&pairs.collect())
    }

    #[test]
    fn a_program_is_known_by_its_user_agent() {
        for (agent, name) in [
            (
                "claude-cli/2.1.197 (external, sdk-cli)",
                Some("Claude Code"),
            ),
            ("codex_exec/0.166.0 (Debian 12.0.0; x86_64)", Some("Codex")),
            ("codex-tui/0.170.0", Some("Codex")),
            (
                "GeminiCLI-tui/0.61.0/my-model (linux; x64)",
                Some("Gemini CLI"),
            ),
            (
                "opencode/1.18.33 ai-sdk/provider-utils/4.0.23",
                Some("opencode"),
            ),
            ("QwenCode/0.9.0 (linux; x64)", Some("Qwen Code")),
            ("OpenAI/Python 3.3.0", Some("OpenAI SDK (Python)")),
            ("Anthropic/JS 1.8.0", Some("Anthropic SDK (TypeScript)")),
            ("Python/3.11 aiohttp/3.12.15", Some("aiohttp")),
            ("Mozilla/5.0", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(of(&[("user-agent", agent)]), name, "{agent}");
        }
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn aider_is_not_taken_for_the_sdk_that_it_calls_through() {
        let agent = ("user-agent", "OpenAI/Python 2.20.0");
        let timeout = |value| ("x-stainless-read-timeout", value);
        assert_eq!(of(&[agent, timeout("600.0")]), Some("LiteLLM"));
        assert_eq!(of(&[agent, timeout("600")]), Some("OpenAI SDK (Python)"));
    }
}
