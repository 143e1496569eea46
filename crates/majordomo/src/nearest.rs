//! "Did you mean" suggestions: the known name closest to a mistyped one.
//!
//! Candidates are ranked by Jaro-Winkler similarity. A suggestion must also be close in edit
//! distance: at most a third of its letters differ, or one name continues the other.

/// Longest name that is compared; bounds the work.
const MAX_COMPARED: usize = 256;
/// Lowest similarity worth suggesting.
const CLOSE_ENOUGH: f64 = 0.75;

/// The known name closest to a mistyped one, if any is close enough.
///
/// ```
/// use majordomo::nearest::nearest;
///
/// assert_eq!(nearest("opnai", ["openai", "ollama"]), Some("openai"));
/// assert_eq!(nearest("OpenAI", ["openai", "ollama"]), Some("openai"));
/// assert_eq!(nearest("groq", ["openai", "ollama"]), None);
/// assert_eq!(nearest("nope", ["openai", "ollama"]), None);
/// ```
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names are lower-case; case alone is no difference.
    let wanted = wanted
        .get(..MAX_COMPARED + 1)
        .unwrap_or(wanted)
        .to_ascii_lowercase();
    let near = known.into_iter().filter(|name| is_near(&wanted, name));
    most_similar(&wanted, near)
}

/// The known name that looks most like the given one, at any edit distance. Decides whether a
/// name may be misspelled; not meant for suggestions.
///
/// ```
/// use majordomo::nearest::most_similar;
///
/// assert_eq!(most_similar("api_kee", ["api_key", "name"]), Some("api_key"));
/// ```
pub fn most_similar<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.len() > MAX_COMPARED {
        return None;
    }
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .filter(|(score, _)| *score >= CLOSE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// The known names closest to a mistyped one, closest first.
///
/// ```
/// use majordomo::nearest::nearest_few;
///
/// assert_eq!(nearest_few("up/smal", ["up/small", "up/smart", "else"], 2), ["up/small", "up/smart"]);
/// ```
pub fn nearest_few<'a>(
    wanted: &str,
    known: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    if wanted.len() > MAX_COMPARED {
        return Vec::new();
    }
    let scored = known
        .into_iter()
        .filter(|name| is_near(wanted, name))
        .map(|name| (strsim::jaro_winkler(wanted, name), name));
    let mut close: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= CLOSE_ENOUGH).collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    close.truncate(most);
    close.into_iter().map(|(_, name)| name).collect()
}

/// Shortest prefix that suggests its continuations.
const MIN_PREFIX: usize = 3;

fn is_near(wanted: &str, name: &str) -> bool {
    let (shorter, longer) = match wanted.len() <= name.len() {
        true => (wanted, name),
        false => (name, wanted),
    };
    if longer.len() > MAX_COMPARED {
        return false;
    }
    let continued = shorter.len() >= MIN_PREFIX && longer.starts_with(shorter);
    let allowed = longer.chars().count().max(3) / 3;
    continued || strsim::osa_distance(wanted, name) <= allowed
}

/// Formats a suggestion as the end of a sentence; empty without one.
pub fn did_you_mean(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}
