//! Families of tokenizers that count differently. Uses no sibling module.

/// A family of tokenizers that count alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenizerFamily {
    /// Anthropic's.
    Claude,
    /// OpenAI's, for models that write channels: GPT-5 and gpt-oss.
    Harmony,
    /// All other tokenizers.
    #[default]
    Other,
}

impl TokenizerFamily {
    /// The family of a model, by its name.
    pub fn of(model: &str) -> Self {
        let names = |part: &str| {
            let mut parts = model.as_bytes().windows(part.len());
            parts.any(|name| name.eq_ignore_ascii_case(part.as_bytes()))
        };
        if names("claude") {
            Self::Claude
        } else if names("gpt-5") || names("gpt-oss") {
            Self::Harmony
        } else {
            Self::Other
        }
    }
}
