//! "Did you mean": the known name that is closest to a mistyped one.

/// Below this a suggestion is more confusing than none.
const CLOSE_ENOUGH: f64 = 0.75;

pub(crate) fn nearest<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .filter(|(score, _)| *score >= CLOSE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

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
