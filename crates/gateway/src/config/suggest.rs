//! Hints that suggest known names.

use majordomo::nearest::nearest;

/// Suggests the nearest name, or lists all of them.
pub(super) fn suggest(wanted: &str, known: &[&str]) -> String {
    match nearest(wanted, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => String::new(),
        None => format!("expected one of {}", listed(known)),
    }
}

/// Formats names as a list.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The provider of models that are known by another name.
pub(super) fn vendor_of(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "gemini" | "google-ai" | "googleai" | "google-genai" => Some("google"),
        "claude" => Some("anthropic"),
        "gpt" | "chatgpt" => Some("openai"),
        "grok" => Some("xai"),
        _ => None,
    }
}
