//! The switches of the vision proxy, as `[vision]` in the configuration has them.

use std::time::Duration;

/// What becomes of images in earlier messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// A fixed marker takes their place and nobody is asked.
    #[default]
    Omit,
    /// A description that is known stays in place, byte for byte, so that the
    /// provider's prompt cache stays valid; the others get the marker.
    Cached,
}

/// Which images are described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latest {
    /// Those of the last message, instructions after it looked past.
    #[default]
    Message,
    /// Those of all messages since the model last spoke.
    Turn,
}

/// What happens when an image cannot be described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A marker takes its place and the request goes on.
    #[default]
    Marker,
    /// The request fails.
    Fail,
}

/// The prompt that goes with every image unless the configuration has another.
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
    /// What becomes of earlier images.
    pub history: History,
    /// Which images are the latest.
    pub latest: Latest,
    /// Descriptions in flight for one request.
    pub per_request: usize,
    /// Descriptions in flight for the whole process.
    pub total: usize,
    /// Different images that one request may have described; of more, the newest
    /// are.
    pub max_images: usize,
    /// What the describer is told.
    pub prompt: String,
    /// Whether the describer is told the user's question, too.
    pub question: bool,
    /// Bytes of descriptions kept for later requests; 0 keeps none.
    pub cache: u64,
    /// For how long they are kept after their last use.
    pub ttl: Duration,
    /// The longest that the descriptions of one request may take, all together.
    pub timeout: Duration,
    /// Tokens of one description.
    pub max_tokens: u64,
    /// What happens when an image cannot be described.
    pub on_failure: OnFailure,
}

impl Default for VisionConfig {
    fn default() -> Self {
        Self {
            history: History::default(),
            latest: Latest::default(),
            per_request: 4,
            total: 16,
            max_images: 20,
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
