//! The usage of an attempt, in the units that are priced.

use majordomo_llm::Usage;
use serde::{Deserialize, Serialize};

/// Amounts of one attempt.
///
/// `input` and `output` are totals. The cache portions and `image_input` are disjoint
/// parts of `input`; `reasoning` is a part of `output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quantities {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// The part of `input` read from the provider's prompt cache.
    pub cache_read: u64,
    /// The part of `input` written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// The part of `input` written to the cache for one hour.
    pub cache_write_1h: u64,
    /// The part of `input` that is images, where it is reported.
    pub image_input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of `output` spent on reasoning.
    pub reasoning: u64,
    /// Images generated.
    pub images: u64,
}

impl Quantities {
    /// The input that no other portion covers. A provider that reports larger portions
    /// than its total never makes this negative.
    pub fn fresh_input(&self) -> u64 {
        self.input
            .saturating_sub(self.cache_read)
            .saturating_sub(self.cache_write_5m)
            .saturating_sub(self.cache_write_1h)
            .saturating_sub(self.image_input)
    }

    /// The output that is not reasoning.
    pub fn visible_output(&self) -> u64 {
        self.output.saturating_sub(self.reasoning)
    }
}

impl From<&Usage> for Quantities {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.input,
            cache_read: usage.cache_read,
            // A write without a reported lifetime counts as a five-minute one.
            cache_write_5m: usage.cache_write.saturating_sub(usage.cache_write_1h),
            cache_write_1h: usage.cache_write_1h,
            output: usage.output,
            reasoning: usage.reasoning,
            image_input: usage.image_input,
            ..Self::default()
        }
    }
}
