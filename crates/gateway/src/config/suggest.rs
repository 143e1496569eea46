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
