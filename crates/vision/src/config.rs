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
    /// The images of the last message, not counting system messages after it.
    #[default]
    Message,
    /// The images of all messages since the model's last one.
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
/// let config = VisionConfig::default().with_history(History::Cached);
/// assert_eq!((config.per_request, config.total), (4, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

impl VisionConfig {
    /// Sets [`history`](Self::history).
    #[must_use]
    pub fn with_history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Sets [`latest`](Self::latest).
    #[must_use]
    pub fn with_latest(mut self, latest: Latest) -> Self {
        self.latest = latest;
        self
    }

    /// Sets [`per_request`](Self::per_request).
    #[must_use]
    pub fn with_per_request(mut self, per_request: usize) -> Self {
        self.per_request = per_request;
        self
    }

    /// Sets [`total`](Self::total).
    #[must_use]
    pub fn with_total(mut self, total: usize) -> Self {
        self.total = total;
        self
    }

    /// Sets [`max_images`](Self::max_images).
    #[must_use]
    pub fn with_max_images(mut self, max_images: usize) -> Self {
        self.max_images = max_images;
        self
    }

    /// Sets [`prompt`](Self::prompt).
    #[must_use]
    pub fn with_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = prompt.into();
        self
    }

    /// Sets [`question`](Self::question).
    #[must_use]
    pub fn with_question(mut self, question: bool) -> Self {
        self.question = question;
        self
    }

    /// Sets [`cache`](Self::cache).
    #[must_use]
    pub fn with_cache(mut self, cache: u64) -> Self {
        self.cache = cache;
        self
    }

    /// Sets [`ttl`](Self::ttl).
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets [`max_tokens`](Self::max_tokens).
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u64) -> Self {
        self.max_tokens = max_tokens;
        self
    }

    /// Sets [`on_failure`](Self::on_failure).
    #[must_use]
    pub fn with_on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }
}
