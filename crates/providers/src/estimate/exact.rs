//! Counts tokens of OpenAI's encodings exactly.

use bpe_openai::{cl100k_base, o200k_base};

/// How many tokens a text is for a model of OpenAI. Newer models and unknown
/// ones share one encoding; those around GPT-4 have an older one.
///
/// ```
/// assert_eq!(majordomo_providers::count_text("gpt-6-sol", "hello world"), 2);
/// ```
pub fn count_text(model: &str, text: &str) -> u64 {
    counter(model)(text)
}

/// The function that counts for a model.
pub(crate) fn counter(model: &str) -> fn(&str) -> u64 {
    match is_older(model) {
        true => |text| cl100k_base().count(text) as u64,
        false => |text| o200k_base().count(text) as u64,
    }
}

/// GPT-3.5 and GPT-4 before 4o, 4.1 and 4.5.
fn is_older(model: &str) -> bool {
    let four = model == "gpt-4" || model.starts_with("gpt-4-");
    four || model.starts_with("gpt-3.5")
}
