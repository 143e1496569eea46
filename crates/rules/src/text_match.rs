//! Text matchers, shared by all positions that read a text.

use std::ops::Range;

use memchr::memmem;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::error::InvalidValue;
use super::value;
use crate::Glob;

/// A case-sensitive text matcher.
#[derive(Debug)]
pub(super) enum TextMatch {
    /// The text equals this.
    Equals(String),
    /// The text contains this.
    Contains(Box<memmem::Finder<'static>>),
    /// The whole text matches the pattern.
    Glob(Glob),
    /// The expression matches anywhere in the text.
    Regex(Regex),
}

/// Builds a matcher from a condition's value.
pub(super) type MakeTextMatch = fn(&str) -> Result<TextMatch, InvalidValue>;

/// Memory limit of a compiled expression; larger ones are rejected at load.
const MAX_REGEX_BYTES: usize = 1024 * 1024;

/// `equals`
pub(super) fn equals(value: &str) -> Result<TextMatch, InvalidValue> {
    Ok(TextMatch::Equals(value.to_owned()))
}

/// `contains`
pub(super) fn contains(value: &str) -> Result<TextMatch, InvalidValue> {
    let finder = memmem::Finder::new(value).into_owned();
    Ok(TextMatch::Contains(Box::new(finder)))
}

/// `glob`
pub(super) fn glob(value: &str) -> Result<TextMatch, InvalidValue> {
    Glob::rich(value)
        .map(TextMatch::Glob)
        .map_err(|bad| InvalidValue::new(format!("invalid glob `{value}`: {bad}")))
}

/// `regex`
pub(super) fn regex(value: &str) -> Result<TextMatch, InvalidValue> {
    RegexBuilder::new(value)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_REGEX_BYTES)
        .build()
        .map(TextMatch::Regex)
        .map_err(|error| InvalidValue::new(regex_problem(&error)))
}

fn regex_problem(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => {
            format!("the regular expression exceeds {limit} bytes when compiled; make it shorter")
        }
        // The parser renders the position over several lines; the last one is the message.
        error => {
            let drawn = error.to_string();
            let message = drawn.lines().last().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            format!("invalid regular expression: {message}")
        }
    }
}

impl TextMatch {
    /// Compiles the condition's value.
    pub(super) fn compile(
        value: Option<&Value>,
        make: MakeTextMatch,
    ) -> Result<Self, InvalidValue> {
        make(value::text(value)?)
    }

    /// Whether the text matches.
    pub(super) fn holds(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::Contains(wanted) => wanted.find(text.as_bytes()).is_some(),
            Self::Glob(glob) => glob.matches(text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }

    /// The range of the match, for the trace.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        match self {
            Self::Contains(wanted) => {
                let start = wanted.find(text.as_bytes())?;
                Some(start..start + wanted.needle().len())
            }
            Self::Regex(regex) => regex.find(text).map(|found| found.range()),
            Self::Equals(_) | Self::Glob(_) => self.holds(text).then_some(0..0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(make: MakeTextMatch, value: &str, text: &str) -> bool {
        make(value).unwrap().holds(text)
    }

    #[test]
    fn equals_compares_the_whole_text_with_case() {
        assert!(holds(equals, "gpt", "gpt"));
        assert!(!holds(equals, "gpt", "gpt-6"));
        assert!(!holds(equals, "gpt", "GPT"));
    }

    #[test]
    fn contains_finds_a_substring() {
        assert!(holds(contains, "pt-", "gpt-6"));
        assert!(!holds(contains, "PT-", "gpt-6"));
    }

    #[test]
    fn glob_matches_the_whole_text() {
        assert!(holds(glob, "gpt-*", "gpt-6"));
        assert!(!holds(glob, "gpt", "gpt-6"));
    }

    #[test]
    fn regex_is_unanchored() {
        assert!(holds(regex, r"foo.*bar", "a foo and a bar here"));
        assert!(!holds(regex, r"^foo", "a foo"));
        assert!(holds(regex, r"(?i)FOO", "a foo"));
    }

    #[test]
    fn an_invalid_expression_is_explained_in_one_line() {
        let bad = regex("(unclosed").unwrap_err();
        assert_eq!(bad.message, "invalid regular expression: unclosed group");
        let bad = regex(r"(?:\w{500}){500}").unwrap_err();
        assert!(bad.message.contains("make it shorter"), "{}", bad.message);
    }

    /// A backtracking matcher would take exponential time on these.
    #[test]
    fn patterns_that_make_backtracking_matchers_explode_run_in_linear_time() {
        let text = format!("{}!", "a".repeat(20_000));
        for pattern in [
            "(a+)+$",
            "(a|aa)+$",
            "(a|a?)+b",
            "^(.*a){20}$",
            "(x+x+)+y|(a*)*b",
        ] {
            assert!(!holds(regex, pattern, &text), "{pattern}");
        }
        for pattern in [
            "*a*a*a*a*a*a*a*a*a*a*b",
            "{a,aa,*}{a,aa,*}{a,aa,*}b",
            "*?*?*?*?*b",
        ] {
            assert!(!holds(glob, pattern, &text), "{pattern}");
            assert!(!Glob::new(pattern).matches(&text), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_need_too_much_memory_are_rejected_at_load() {
        for pattern in [
            r"(?:\w{500}){500}",
            r"((a{100}){100}){100}",
            &"(".repeat(100_000),
        ] {
            assert!(regex(pattern).is_err(), "{}", &pattern[..20]);
        }
        for pattern in [
            "?".repeat(1_000_000),
            "{".repeat(100_000) + &"}".repeat(100_000),
        ] {
            assert!(glob(&pattern).is_err(), "{}", &pattern[..20]);
        }
    }

    #[test]
    fn find_returns_the_range_of_the_match() {
        assert_eq!(contains("b").unwrap().find("abc"), Some(1..2));
        assert_eq!(regex("b+").unwrap().find("abbc"), Some(1..3));
        assert_eq!(contains("x").unwrap().find("abc"), None);
    }
}
