//! `[vision]`: the vision proxy.

use std::time::Duration;

use majordomo_vision::{History, Latest, OnFailure, VisionConfig};

use super::reader::Section;

/// Descriptions of images for models that accept none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VisionSettings {
    /// Handling of images in earlier turns.
    pub history: History,
    /// Which images count as the latest.
    pub latest: Latest,
    /// Concurrent descriptions per request.
    pub per_request: usize,
    /// Concurrent descriptions per process.
    pub total: usize,
    /// Maximum number of images described per request.
    pub max_images: usize,
    /// Prompt for the describer; `None` uses the built-in one.
    pub prompt: Option<String>,
    /// Whether the describer receives the user's question.
    pub question: bool,
    /// Size of the description cache in bytes; 0 disables it.
    pub cache: u64,
    /// Lifetime of a cached description.
    pub ttl: Duration,
    /// Timeout for one description.
    pub timeout: Duration,
    /// Maximum tokens of one description.
    pub max_tokens: u64,
    /// Handling of images that cannot be described.
    pub on_failure: OnFailure,
}

impl VisionSettings {
    /// The engine's settings.
    pub fn settings(&self) -> VisionConfig {
        let usual = VisionConfig::default();
        VisionConfig::default()
            .with_history(self.history)
            .with_latest(self.latest)
            .with_per_request(self.per_request)
            .with_total(self.total)
            .with_prompt(self.prompt.clone().unwrap_or(usual.prompt))
            .with_question(self.question)
            .with_cache(self.cache)
            .with_ttl(self.ttl)
            .with_timeout(self.timeout)
            .with_max_tokens(self.max_tokens)
            .with_on_failure(self.on_failure)
            .with_max_images(self.max_images)
    }
}

impl Default for VisionSettings {
    fn default() -> Self {
        Self {
            history: History::default(),
            latest: Latest::default(),
            per_request: 4,
            total: 16,
            max_images: VisionConfig::default().max_images,
            prompt: None,
            question: false,
            cache: 64 << 20,
            ttl: Duration::from_secs(600),
            timeout: Duration::from_secs(30),
            max_tokens: 256,
            on_failure: OnFailure::default(),
        }
    }
}

const MAX_CONCURRENT: u64 = 1_000;
const MAX_DESCRIBED: u64 = 100_000;

pub(super) fn read_vision(mut section: Section<'_>) -> VisionSettings {
    let mut vision = VisionSettings::default();
    let history = [("omit", History::Omit), ("cached", History::Cached)];
    if let Some(found) = section.take("history").and_then(|f| f.choice(&history)) {
        vision.history = found;
    }
    let latest = [("message", Latest::Message), ("turn", Latest::Turn)];
    if let Some(found) = section.take("latest").and_then(|f| f.choice(&latest)) {
        vision.latest = found;
    }
    let count = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
    let per_request = section.number("per_request", 1, MAX_CONCURRENT);
    vision.per_request = per_request.map_or(vision.per_request, count);
    let total_field = section.take("total");
    let total = total_field
        .as_ref()
        .and_then(|field| field.number(1, MAX_CONCURRENT));
    vision.total = total.map_or(vision.total.max(vision.per_request), count);
    let max_images = section.number("max_images", 1, MAX_DESCRIBED);
    vision.max_images = max_images.map_or(vision.max_images, count);
    vision.prompt = section
        .take("prompt")
        .and_then(|f| f.non_empty())
        .map(|text| text.value);
    vision.question = section.flag("question").unwrap_or(vision.question);
    let cache = section.take("cache").and_then(|f| f.size_or_off());
    vision.cache = cache.unwrap_or(vision.cache);
    let ttl = section.take("ttl").and_then(|f| f.positive_duration());
    vision.ttl = ttl.unwrap_or(vision.ttl);
    let timeout = section.take("timeout").and_then(|f| f.positive_duration());
    vision.timeout = timeout.unwrap_or(vision.timeout);
    vision.max_tokens = section
        .number("max_tokens", 1, 100_000)
        .unwrap_or(vision.max_tokens);
    let failure = [("marker", OnFailure::Marker), ("fail", OnFailure::Fail)];
    if let Some(found) = section.take("on_failure").and_then(|f| f.choice(&failure)) {
        vision.on_failure = found;
    }
    if let Some(field) = total_field.filter(|_| vision.total < vision.per_request) {
        field.report(
            format!(
                "`total` ({}) is less than `per_request` ({})",
                vision.total, vision.per_request
            ),
            "`total` applies to the whole process: set it to at least `per_request`",
        );
    }
    section.finish();
    vision
}
