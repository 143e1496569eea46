//! Recovers the answer when the final response only refers back to it.
//!
//! The phrases are English, so this is off by default.

use majordomo_llm::{Message, Role};

const POINTS_BACK: [&str; 9] = [
    "already answered",
    "see above",
    "as i said",
    "as i mentioned",
    "as i stated",
    "as i noted",
    "answered above",
    "per my previous",
    "per my earlier",
];
const PREAMBLES: [&str; 7] = [
    "let me", "i'll", "first", "sure", "okay", "on it", "checking",
];
const MAX_POINTER_LEN: usize = 120;
const SUBSTANTIAL: usize = 200;
const MAYBE_SUBSTANTIAL: usize = 80;

/// Returns an earlier substantial text of the run, if its last text is weak.
pub(super) fn find_substantial_answer(run: &[Message], last: &str) -> Option<String> {
    if !is_weak(last) {
        return None;
    }
    let earlier = run
        .iter()
        .rev()
        .filter(|m| m.role == Role::Assistant)
        .skip(1);
    let mut texts = earlier.map(Message::text);
    texts.find(|text| is_substantial(text.trim(), last.trim()))
}

fn is_weak(text: &str) -> bool {
    let text = text.trim();
    let lower = text.to_lowercase();
    text.is_empty()
        || (text.chars().count() <= MAX_POINTER_LEN
            && POINTS_BACK.iter().any(|phrase| lower.contains(phrase)))
}

fn is_substantial(text: &str, last: &str) -> bool {
    let length = text.chars().count();
    let lower = text.to_lowercase();
    length >= SUBSTANTIAL
        || (length >= MAYBE_SUBSTANTIAL
            && length >= 3 * last.chars().count()
            && !PREAMBLES.iter().any(|phrase| lower.starts_with(phrase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovers(earlier: &str, last: &str) -> bool {
        let run = [Message::assistant(earlier), Message::assistant(last)];
        find_substantial_answer(&run, last).is_some()
    }

    #[test]
    fn a_weak_final_text_is_replaced_by_a_substantial_one() {
        let long = "x".repeat(200);
        let medium = "y".repeat(80);
        let preamble = format!("Let me look at that. {medium}");
        for (earlier, last, recovered) in [
            (long.as_str(), "", true),
            (long.as_str(), " \n", true),
            (long.as_str(), "As I said, see above.", true),
            (long.as_str(), "42", false),
            (medium.as_str(), "See above.", true),
            (preamble.as_str(), "See above.", false),
            ("short", "", false),
        ] {
            assert_eq!(recovers(earlier, last), recovered, "{earlier:.10} {last}");
        }
        let long_pointer = format!("see above {}", "z".repeat(120));
        assert!(!recovers(&long, &long_pointer), "a long text is not weak");
    }
}
