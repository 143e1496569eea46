//! Globs with classes and alternatives, translated to regular expressions.

use regex::{Regex, RegexBuilder};

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// `[` without `]`, or an empty class.
    #[error("unclosed or empty character class; write `\\[` for a literal bracket")]
    Brackets,
    /// `{` and `}` are unbalanced.
    #[error("unbalanced braces; write `\\{{` or `\\}}` for a literal brace")]
    Braces,
    /// A reversed range such as `[z-a]`.
    #[error("a range in `[…]` is reversed")]
    Range,
    /// A trailing `\`.
    #[error("trailing `\\`; write `\\\\` for a literal backslash")]
    Escape,
    /// The compiled pattern exceeds its size limit.
    #[error("the pattern is too long")]
    TooLong,
}

const MAX_COMPILED_BYTES: usize = 64 * 1024;

pub(super) fn compile(pattern: &str) -> Result<Regex, GlobError> {
    let regex = translate(pattern)?;
    RegexBuilder::new(&regex)
        .dot_matches_new_line(true)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|_| GlobError::TooLong)
}

fn translate(pattern: &str) -> Result<String, GlobError> {
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
                open_braces = open_braces.checked_sub(1).ok_or(GlobError::Braces)?;
                regex.push(')');
            }
            ',' if open_braces > 0 => regex.push('|'),
            '\\' => literal(chars.next().ok_or(GlobError::Escape)?, &mut regex),
            c => literal(c, &mut regex),
        }
    }
    if open_braces > 0 {
        return Err(GlobError::Braces);
    }
    regex.push_str(r")\z");
    Ok(regex)
}

/// Translates the class after a `[`, up to its `]`.
fn class(chars: &mut std::str::Chars<'_>, regex: &mut String) -> Result<(), GlobError> {
    let (inside, rest) = chars.as_str().split_once(']').ok_or(GlobError::Brackets)?;
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
        return Err(GlobError::Brackets);
    }
    let mut members = inside.chars().peekable();
    while let Some(first) = members.next() {
        literal(first, regex);
        if members.peek() == Some(&'-') {
            members.next();
            match members.next() {
                Some(last) if last < first => return Err(GlobError::Range),
                Some(last) => {
                    regex.push('-');
                    literal(last, regex);
                }
                // A trailing `-` is literal.
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
    fn errors_are_specific() {
        for (pattern, expected) in [
            ("[a", GlobError::Brackets),
            ("[]", GlobError::Brackets),
            ("{a", GlobError::Braces),
            ("a}", GlobError::Braces),
            ("[z-a]", GlobError::Range),
            ("a\\", GlobError::Escape),
        ] {
            assert_eq!(Glob::rich(pattern).unwrap_err(), expected, "{pattern}");
        }
        let long = "?".repeat(1_000_000);
        assert_eq!(Glob::rich(&long).unwrap_err(), GlobError::TooLong);
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in ".*", name in ".*") {
            if let Ok(glob) = Glob::rich(&pattern) {
                glob.matches(&name);
            }
        }

        #[test]
        fn an_escaped_name_matches_only_itself(name in ".*") {
            let escaped: String = name.chars().flat_map(|c| ['\\', c]).collect();
            let glob = Glob::rich(&escaped).unwrap();
            prop_assert!(glob.matches(&name));
            let longer = format!("{name}x");
            prop_assert!(!glob.matches(&longer));
        }
    }
}
