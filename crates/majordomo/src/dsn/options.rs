//! The options of a DSN's query.

use std::str::FromStr;
use std::time::Duration;

use majordomo_llm::Capabilities;
use majordomo_providers::{AnthropicVersion, CapabilityOverrides};

use super::DsnError;

/// The options of a DSN; unset options keep the provider's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DsnOptions {
    /// Timeout of one attempt.
    pub timeout: Option<Duration>,
    /// Whether the server takes images.
    pub images: Option<bool>,
    /// Whether the server supports tools.
    pub tools: Option<bool>,
    /// The server's context window in tokens.
    pub context: Option<u64>,
    /// Whether the server knows only the old `max_tokens` of Chat Completions.
    pub legacy_max_tokens: Option<bool>,
    /// The version of Anthropic's API.
    pub anthropic_version: Option<AnthropicVersion>,
    /// The context window to request from Ollama.
    pub num_ctx: Option<u64>,
}

impl DsnOptions {
    /// The capabilities that the options override.
    pub fn limits(&self) -> CapabilityOverrides {
        let mut limits = CapabilityOverrides::default();
        limits.images = self.images;
        limits.tools = self.tools;
        limits.context = self.context;
        limits
    }

    /// Overrides a provider's default capabilities.
    pub fn apply(&self, capabilities: &mut Capabilities) {
        self.limits().apply(capabilities);
    }
}

impl FromStr for DsnOptions {
    type Err = DsnError;

    fn from_str(query: &str) -> Result<Self, DsnError> {
        let mut options = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let bad = |expected| DsnError::BadOption {
                name: name.to_owned(),
                expected,
            };
            let flag = || value.parse().map_err(|_| bad("`true` or `false`"));
            match name {
                "timeout" => {
                    let timeout = humantime::parse_duration(value);
                    let timeout = timeout.map_err(|_| bad("a duration such as `30s` or `5m`"))?;
                    options.timeout = Some(timeout);
                }
                "images" => options.images = Some(flag()?),
                "tools" => options.tools = Some(flag()?),
                "context" => {
                    let tokens = value.parse().map_err(|_| bad("a number of tokens"))?;
                    options.context = Some(tokens);
                }
                "num_ctx" => {
                    let tokens = value.parse().ok().filter(|tokens| *tokens > 0);
                    options.num_ctx = Some(tokens.ok_or_else(|| bad("a number of tokens"))?);
                }
                "legacy" => options.legacy_max_tokens = Some(flag()?),
                "version" => {
                    let version = value.parse();
                    let version = version.map_err(|_| bad("`2023-06-01` or `2026-10-21`"))?;
                    options.anthropic_version = Some(version);
                }
                _ => {
                    return Err(DsnError::UnknownOption { name: shown(name) });
                }
            }
        }
        Ok(options)
    }
}

/// An option's name as errors show it. Text that is not a plain word may be a key without its
/// option name.
fn shown(name: &str) -> String {
    let word = name.len() <= 24 && name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    if word {
        name.to_owned()
    } else {
        "…".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_written_as_an_option_is_redacted() {
        for (query, name) in [
            ("imagse=true", "imagse"),
            ("sk-CANARY", "…"),
            ("CANARY=1", "…"),
        ] {
            let error = query.parse::<DsnOptions>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }

    #[test]
    fn options_override_the_capabilities_a_provider_assumes() {
        let mut capabilities = Capabilities::default();
        let options: DsnOptions = "images=false&context=4096".parse().unwrap();
        options.apply(&mut capabilities);
        assert!(!capabilities.takes_images() && capabilities.tools);
        assert_eq!(capabilities.context_window, Some(4_096));

        "images=true"
            .parse::<DsnOptions>()
            .unwrap()
            .apply(&mut capabilities);
        assert!(capabilities.takes_images());
    }
}
