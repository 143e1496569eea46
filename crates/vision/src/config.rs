//! Settings of the vision proxy: `[vision]` in the configuration.

use std::time::Duration;

/// How images of earlier messages are replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// With a fixed marker, without calling a describer.
    #[default]
    Omit,
    /// With their cached description, byte for byte, so that the provider's prompt cache
    /// stays valid; with the marker if none is cached.
    Cached,
}

/// Which images are described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latest {
    /// Those of the last message, not counting system messages after it.
    #[default]
    Message,
    /// Those of all messages since the model's last one.
    Turn,
}

/// What happens if an image cannot be described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A marker replaces it and the request continues.
    #[default]
    Marker,
    /// The request fails.
    Fail,
}

/// Default prompt sent with every image.
pub const DEFAULT_PROMPT: &str = "Describe this image for a reader who cannot see it. \
    Be concise, quote any text in it exactly, and answer with the description only, as plain text.";

/// How images are described.
///
/// ```
/// use majordomo_vision::{History, VisionConfig};
///
/// let config = VisionConfig { history: History::Cached, ..VisionConfig::default() };
/// assert_eq!((config.per_request, config.total), (4, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisionConfig {
    /// How earlier images are replaced.
    pub history: History,
    /// Which images are described.
    pub latest: Latest,
    /// Concurrent descriptions per request.
    pub per_request: usize,
    /// Concurrent descriptions in the process.
    pub total: usize,
    /// Maximum number of distinct images described per request; the newest ones win, and the others are
    /// listed as undescribed.
    pub max_images: usize,
    /// The prompt for the describer.
    pub prompt: String,
    /// Whether the user's question is added to the prompt.
    pub question: bool,
    /// Bytes of cached descriptions; 0 disables the cache.
    pub cache: u64,
    /// How long a description is cached after its last use.
    pub ttl: Duration,
    /// Time limit for all descriptions of a request together.
    pub timeout: Duration,
    /// Maximum tokens of one description.
    pub max_tokens: u64,
    /// What happens if an image cannot be described.
    pub on_failure: OnFailure,
}

impl Default for VisionConfig {
    fn default() -> Self {
        Self {
            history: History::default(),
            latest: Latest::default(),
            per_request: 4,
            total: 16,
            max_images: 100,
            prompt: DEFAULT_PROMPT.to_owned(),
            question: false,
            cache: 64 << 20,
            ttl: Duration::from_secs(600),
            timeout: Duration::from_secs(30),
            max_tokens: 256,
            on_failure: OnFailure::default(),
        }
    }
}
