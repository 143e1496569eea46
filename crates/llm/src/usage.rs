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
/// let mut sum = Usage { input: 100, output: 20, cache_read: 80, ..Usage::default() };
/// sum += Usage { input: 10, output: 5, ..Usage::default() };
/// assert_eq!((sum.total(), sum.cache_read), (135, 80));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// The portion of `input` read from the provider's prompt cache.
    pub cache_read: u64,
    /// The portion of `input` written to the provider's prompt cache.
    pub cache_write: u64,
    /// The portion of `output` spent on reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Returns the sum of input and output.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}
