//! Hints that name what is known.

use majordomo::nearest;

/// A hint that suggests the nearest name, or else lists all of them.
pub(super) fn suggest(wanted: &str, known: &[&str]) -> String {
    match nearest(wanted, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => String::new(),
        None => format!("known are {}", listed(known)),
    }
}

/// Names as a sentence lists them.
pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
