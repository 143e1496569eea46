//! Target-specific settings for writing Ollama requests.

/// Settings of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OllamaTarget {
    /// `num_ctx` for requests that set none. Without it the server picks a small
    /// window and silently truncates longer prompts.
    pub num_ctx: Option<u64>,
    /// Sends `truncate: false` unless the request sets `truncate`, so that the server
    /// rejects an overlong prompt instead of silently truncating it.
    pub refuse_overlong: bool,
    /// Repeats the schema as an instruction, since Ollama Cloud ignores `format`.
    pub schema_in_words: bool,
    /// The values of `think` the model supports.
    pub thinking: ThinkSupport,
}

/// The values of `think` a model supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkSupport {
    /// The model cannot think and rejects `think`.
    Unsupported,
    /// `true` and `false`.
    OnOff,
    /// `low`, `medium` and `high`.
    UpToHigh,
    /// `low` to `max`. Also the default for unknown models: servers treat a level
    /// as `true` if the model has no levels.
    #[default]
    UpToMax,
}
