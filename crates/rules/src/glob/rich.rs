//! Patterns with classes and alternatives, as regular expressions.

use regex::{Regex, RegexBuilder};

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGlob {
    /// `[` without its `]`, or nothing between them.
    #[error("a `[` has no characters and `]` after it; write `\\[` for the character itself")]
    Brackets,
    /// `{` and `}` do not pair.
    #[error("`{{` and `}}` do not pair; write `\\{{` or `\\}}` for the character itself")]
    Braces,
    /// A range such as `[z-a]`.
    #[error("a range in `[…]` goes backwards")]
    Range,
    /// A `\` with nothing after it.
    #[error("a `\\` at the end stands for nothing; write `\\\\` for the character itself")]
    Escape,
    /// More than the bound on a compiled pattern.
    #[error("the pattern is too long")]
    TooLong,
}

const MAX_COMPILED_BYTES: usize = 64 * 1024;

pub(super) fn compile(pattern: &str) -> Result<Regex, BadGlob> {
    let regex = translate(pattern)?;
    RegexBuilder::new(&regex)
        .dot_matches_new_line(true)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|_| BadGlob::TooLong)
}

fn translate(pattern: &str) -> Result<String, BadGlob> {
    let mut regex = String::from(r"\A(?:");
    let mut chars = pattern.chars();
    let mut open_braces = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' => class(&mut chars, &mut regex)?,
            '{' => {
                open_braces += 1;
                regex.push_str("(?:");
            }
            '}' => {
                open_braces = open_braces.checked_sub(1).ok_or(BadGlob::Braces)?;
                regex.push(')');
            }
            ',' if open_braces > 0 => regex.push('|'),
            '\\' => literal(chars.next().ok_or(BadGlob::Escape)?, &mut regex),
            c => literal(c, &mut regex),
        }
    }
    if open_braces > 0 {
        return Err(BadGlob::Braces);
    }
    regex.push_str(r")\z");
    Ok(regex)
}

/// What follows a `[`, up to its `]`.
fn class(chars: &mut std::str::Chars<'_>, regex: &mut String) -> Result<(), BadGlob> {
    let (inside, rest) = chars.as_str().split_once(']').ok_or(BadGlob::Brackets)?;
    *chars = rest.chars();
    regex.push('[');
    let inside = match inside.strip_prefix(['!', '^']) {
        Some(inside) => {
            regex.push('^');
            inside
        }
        None => inside,
    };
    if inside.is_empty() {
        return Err(BadGlob::Brackets);
    }
    let mut members = inside.chars().peekable();
    while let Some(first) = members.next() {
        literal(first, regex);
        if members.peek() == Some(&'-') {
            members.next();
            match members.next() {
                Some(last) if last < first => return Err(BadGlob::Range),
                Some(last) => {
                    regex.push('-');
                    literal(last, regex);
                }
                // A `-` at the end is itself.
                None => literal('-', regex),
            }
        }
    }
    regex.push(']');
    Ok(())
}

fn literal(c: char, regex: &mut String) {
    regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Glob;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("gpt-*", "gpt-6", true),
            ("gpt-*", "my-gpt-6", false),
            ("*", "a/b:c\nd", true),
            ("*opus*", "anthropic/claude-opus-5-5", true),
            ("gpt-?", "gpt-6", true),
            ("gpt-?", "gpt-60", false),
            ("gpt-[5-7]", "gpt-6", true),
            ("gpt-[!5-7]", "gpt-6", false),
            ("gpt-[a-]", "gpt--", true),
            ("{a,b}/x", "b/x", true),
            ("{a,b}/x", "c/x", false),
            ("a,b", "a,b", true),
            (r"\*", "*", true),
            (r"\*", "x", false),
            ("a.c", "abc", false),
            ("GPT", "gpt", false),
            ("", "", true),
            ("", "x", false),
        ] {
            let matched = Glob::rich(pattern).unwrap().matches(name);
            assert_eq!(matched, expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (pattern, expected) in [
            ("[a", BadGlob::Brackets),
            ("[]", BadGlob::Brackets),
            ("{a", BadGlob::Braces),
            ("a}", BadGlob::Braces),
            ("[z-a]", BadGlob::Range),
            ("a\\", BadGlob::Escape),
        ] {
            assert_eq!(Glob::rich(pattern).unwrap_err(), expected, "{pattern}");
        }
        let long = "?".repeat(1_000_000);
        assert_eq!(Glob::rich(&long).unwrap_err(), BadGlob::TooLong);
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in ".*", name in ".*") {
            if let Ok(glob) = Glob::rich(&pattern) {
                glob.matches(&name);
            }
        }

        #[test]
        fn a_name_with_its_marks_escaped_matches_itself_alone(name in ".*") {
            let escaped: String = name.chars().flat_map(|c| ['\\', c]).collect();
            let glob = Glob::rich(&escaped).unwrap();
            prop_assert!(glob.matches(&name));
            let longer = format!("{name}x");
            prop_assert!(!glob.matches(&longer));
        }
    }
}
