//! What is known about an Ollama server beside its dialect.

/// Settings of one target, for the writer of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The context window to ask for when the request asks for none. Without
    /// it the server chooses a small one and cuts longer prompts in silence.
    pub num_ctx: Option<u64>,
    /// Whether a prompt that is too long must be refused when the request does
    /// not say what to do with it; a server left to itself cuts it in silence.
    pub refuse_overlong: bool,
    /// Whether a schema is also told in words. Ollama Cloud ignores `format`.
    pub schema_in_words: bool,
    /// How the model can be told to think.
    pub thinking: Thinking,
}

/// The values of `think` that a model knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// It cannot think, and asking for it is refused.
    Never,
    /// On or off.
    Switch,
    /// `low`, `medium` and `high`.
    ToHigh,
    /// The same, and `max`. Also for models of which nothing is known: servers
    /// take a level as "on" where the model has none.
    #[default]
    ToMax,
}
