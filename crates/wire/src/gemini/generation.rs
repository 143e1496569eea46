//! Detects a Gemini generation from the model name.

/// The model generations that differ on the wire. An unrecognized name is treated
/// as the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GeminiGeneration {
    /// Before 2.5: no `thinkingConfig`.
    NoThinking,
    /// 2.5: takes `thinkingBudget`, in tokens.
    ThinkingBudget,
    /// 3 and later: takes `thinkingLevel` and images inside a `functionResponse`,
    /// and rejects function calls without a `thoughtSignature`.
    ThinkingLevel,
}

impl GeminiGeneration {
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let starts_with =
            |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if starts_with(&["gemini-1.", "gemini-2.0"]) {
            Self::NoThinking
        } else if starts_with(&["gemini-2."]) {
            Self::ThinkingBudget
        } else {
            Self::ThinkingLevel
        }
    }
}
