//! Keys, headers and budget windows, which all formats have.

use crate::draft::Draft;
use crate::secret::{OutputText, is_no_key, looks_secret, reference};
use crate::source::Field;

/// A provider's key, unless the text means "none".
pub(crate) fn api_key(field: &Field<'_>, wanted: &str, draft: &mut Draft) -> Option<OutputText> {
    let Some(text) = field.text() else {
        field.skipped("no key is written here");
        return None;
    };
    if is_no_key(text) {
        field.approximated("left out: it means that there is no key");
        return None;
    }
    let key = draft.secrets.text(text, wanted, &field.path);
    match reference(text) {
        Some(_) => field.mapped("api_key"),
        None => field.approximated(format!("api_key = \"{}\": set this variable", key.0)),
    }
    Some(key)
}

/// A header. Only a few headers are known to hold no secret.
pub(crate) fn header(
    name: &str,
    field: &Field<'_>,
    draft: &mut Draft,
) -> Option<(String, OutputText)> {
    const RESERVED: [&str; 8] = [
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "te",
        "transfer-encoding",
    ];
    const HARMLESS: [&str; 6] = [
        "anthropic-beta",
        "anthropic-version",
        "http-referer",
        "openai-beta",
        "user-agent",
        "x-title",
    ];
    let lower = name.to_ascii_lowercase();
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if lower.is_empty() || !lower.chars().all(token) || RESERVED.contains(&lower.as_str()) {
        field.skipped("majordomo does not send this header");
        return None;
    }
    let printable = |text: &&str| text.chars().all(|c| c.is_ascii() && !c.is_ascii_control());
    let Some(text) = field.written().filter(printable) else {
        field.unusable("a text that a header can hold");
        return None;
    };
    let is_plain = HARMLESS.contains(&lower.as_str()) && !looks_secret(text);
    let value = match is_plain && reference(text).is_none() {
        true => OutputText::literal(text),
        false => draft
            .secrets
            .text(text, &format!("{lower}_HEADER"), &field.path),
    };
    field.mapped("a header of the provider");
    Some((lower, value))
}

/// The window of a budget with this reset interval.
pub(crate) fn window(duration: &str) -> Option<&'static str> {
    match duration.trim() {
        "24h" | "1d" | "daily" => Some("day"),
        "7d" | "1w" | "weekly" => Some("week"),
        "28d" | "30d" | "31d" | "1mo" | "1M" | "monthly" => Some("month"),
        _ => None,
    }
}
