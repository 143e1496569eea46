//! Exact token counts for OpenAI's encodings.

use bpe_openai::{cl100k_base, o200k_base};

/// Counts the tokens of a text for an OpenAI model: `cl100k_base` for GPT-3.5 and
/// GPT-4, `o200k_base` for newer and unknown models.
///
/// ```
/// assert_eq!(majordomo_providers::count_text("gpt-6-sol", "hello world"), 2);
/// ```
pub fn count_text(model: &str, text: &str) -> u64 {
    exact_counter(model)(text)
}

/// The counting function for a model.
pub(crate) fn exact_counter(model: &str) -> fn(&str) -> u64 {
    match uses_cl100k(model) {
        true => |text| cl100k_base().count(text) as u64,
        false => |text| o200k_base().count(text) as u64,
    }
}

/// GPT-3.5, and GPT-4 before 4o.
fn uses_cl100k(model: &str) -> bool {
    let four = model == "gpt-4" || model.starts_with("gpt-4-");
    four || model.starts_with("gpt-3.5")
}
