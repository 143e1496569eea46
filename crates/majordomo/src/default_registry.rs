//! The process-wide registry, for programs that need only one. May use `registry`.

use std::sync::OnceLock;

use crate::chain::Chain;
use crate::registry::Registry;
use crate::spec::SpecError;

static DEFAULT: OnceLock<Registry> = OnceLock::new();

/// Returns the process-wide registry. The first call creates it with
/// [`Registry::from_env`].
///
/// Register providers and aliases on it, or pass your own [`Registry`] around where a
/// program needs several.
///
/// ```
/// majordomo::default_registry().alias("fast", "groq/llama-4-scout,ollama/qwen3:4b")?;
/// let model = majordomo::model("fast")?;
/// assert_eq!(model.targets().count(), 2);
/// # Ok::<(), majordomo::spec::SpecError>(())
/// ```
pub fn default_registry() -> &'static Registry {
    DEFAULT.get_or_init(Registry::from_env)
}

/// Returns the chain that a spec names, from the process-wide registry.
///
/// ```no_run
/// use majordomo::Request;
///
/// # async fn ask() -> majordomo::Result<()> {
/// let model = majordomo::model("anthropic/claude-opus-5-5,ollama/qwen3:30b")?;
/// let reply = model.generate(Request::user("hi")).await?;
/// println!("{} (served by {})", reply.text(), reply.model);
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Fails if the spec is malformed or names an unknown provider or alias.
pub fn model(spec: &str) -> Result<Chain, SpecError> {
    default_registry().model(spec)
}
