//! Token usage.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens billed for a response.
///
/// `input` and `output` are totals. The other fields are portions of them, and zero if
/// the provider does not report them.
///
/// ```
/// use majordomo_llm::Usage;
///
/// let mut sum = Usage::new(100, 20).with_cache_read(80);
/// sum += Usage::new(10, 5);
/// assert_eq!((sum.total(), sum.cache_read), (135, 80));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// The portion of `input` read from the provider's prompt cache.
    pub cache_read: u64,
    /// The portion of `input` written to the provider's prompt cache.
    pub cache_write: u64,
    /// The portion of `cache_write` that the provider keeps for five minutes.
    ///
    /// Zero, like `cache_write_1h`, if the provider reports only the sum.
    pub cache_write_5m: u64,
    /// The portion of `cache_write` that the provider keeps for one hour.
    pub cache_write_1h: u64,
    /// The portion of `output` spent on reasoning.
    pub reasoning: u64,
    /// The portion of `input` that is images, where the provider prices it differently.
    #[serde(skip_serializing_if = "is_zero")]
    pub image_input: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Creates a usage of this many input and output tokens.
    pub const fn new(input: u64, output: u64) -> Self {
        Self {
            input,
            output,
            cache_read: 0,
            cache_write: 0,
            cache_write_5m: 0,
            cache_write_1h: 0,
            reasoning: 0,
            image_input: 0,
        }
    }

    /// Sets the tokens read from the prompt cache.
    #[must_use]
    pub const fn with_cache_read(mut self, tokens: u64) -> Self {
        self.cache_read = tokens;
        self
    }

    /// Sets the tokens written to the prompt cache, kept for an unreported time.
    #[must_use]
    pub const fn with_cache_write(mut self, tokens: u64) -> Self {
        self.cache_write = tokens;
        self
    }

    /// Sets the tokens written to the prompt cache by how long they are kept, and their
    /// sum.
    ///
    /// ```
    /// use majordomo_llm::Usage;
    ///
    /// let usage = Usage::new(1_000, 20).with_cache_writes(300, 400);
    /// assert_eq!((usage.cache_write, usage.cache_write_1h), (700, 400));
    /// ```
    #[must_use]
    pub const fn with_cache_writes(mut self, five_minutes: u64, one_hour: u64) -> Self {
        self.cache_write = five_minutes.saturating_add(one_hour);
        self.cache_write_5m = five_minutes;
        self.cache_write_1h = one_hour;
        self
    }

    /// Sets the tokens spent on reasoning.
    #[must_use]
    pub const fn with_reasoning(mut self, tokens: u64) -> Self {
        self.reasoning = tokens;
        self
    }

    /// Sets the tokens of images among the input.
    #[must_use]
    pub const fn with_image_input(mut self, tokens: u64) -> Self {
        self.image_input = tokens;
        self
    }

    /// Returns the sum of input and output.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let Self {
            input,
            output,
            cache_read,
            cache_write,
            cache_write_5m,
            cache_write_1h,
            reasoning,
            image_input,
        } = other;
        for (sum, count) in [
            (&mut self.input, input),
            (&mut self.output, output),
            (&mut self.cache_read, cache_read),
            (&mut self.cache_write, cache_write),
            (&mut self.cache_write_5m, cache_write_5m),
            (&mut self.cache_write_1h, cache_write_1h),
            (&mut self.reasoning, reasoning),
            (&mut self.image_input, image_input),
        ] {
            *sum = sum.saturating_add(count);
        }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
