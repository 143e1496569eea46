//! Finds the real answer behind a last message that only points back at it.
//!
//! The numbers and phrases are the original's. They are English, which is why
//! this is off unless asked for.

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
const LONGEST_POINTER: usize = 120;
const SUBSTANTIAL: usize = 200;
const MAYBE_SUBSTANTIAL: usize = 80;

/// The text to give for a run whose last text is `last`, if another is better.
pub(super) fn better_answer(run: &[Message], last: &str) -> Option<String> {
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
        || (text.chars().count() <= LONGEST_POINTER
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

    fn better(earlier: &str, last: &str) -> bool {
        let run = [Message::assistant(earlier), Message::assistant(last)];
        better_answer(&run, last).is_some()
    }

    #[test]
    fn a_weak_last_text_gives_way_to_a_substantial_one() {
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
            assert_eq!(better(earlier, last), recovered, "{earlier:.10} {last}");
        }
        let long_pointer = format!("see above {}", "z".repeat(120));
        assert!(
            !better(&long, &long_pointer),
            "a long text stands by itself"
        );
    }
}
