//! Glob patterns for names.
//!
//! Model names contain brackets (`claude-sonnet-4-5[1m]`), so a plain pattern knows
//! only `*` and `?`. Rules may use character classes and alternatives; see
//! [`Glob::rich`].

mod rich;

use std::fmt;

use regex::Regex;

pub use rich::GlobError;

/// A case-sensitive pattern that matches whole names.
///
/// ```
/// use majordomo_rules::Glob;
///
/// let claude = Glob::new("claude-*");
/// assert!(claude.matches("claude-opus-5-5") && !claude.matches("my-claude-1"));
/// assert!(Glob::new("demo/*").matches("demo/text"));
/// let gpt = Glob::rich("openai/gpt-{5,6}*")?;
/// assert!(gpt.matches("openai/gpt-6-luna") && !gpt.matches("openai/gpt-4o"));
/// # Ok::<(), majordomo_rules::GlobError>(())
/// ```
#[derive(Clone)]
pub struct Glob {
    pattern: String,
    kind: GlobKind,
}

#[derive(Clone)]
enum GlobKind {
    Literal,
    Marks(Vec<char>),
    Rich(Regex),
}

impl Glob {
    /// `*` matches any text, including slashes, and `?` any single character. All other
    /// characters match themselves, so every string is a valid pattern.
    pub fn new(pattern: &str) -> Self {
        let kind = if pattern.contains(['*', '?']) {
            GlobKind::Marks(pattern.chars().collect())
        } else {
            GlobKind::Literal
        };
        Self {
            pattern: pattern.to_owned(),
            kind,
        }
    }

    /// Like [`new`](Self::new), with `[a-z]`, `[!a-z]`, `{one,other}` and `\\` to escape
    /// a character.
    pub fn rich(pattern: &str) -> Result<Self, GlobError> {
        let kind = GlobKind::Rich(rich::compile(pattern)?);
        Ok(Self {
            pattern: pattern.to_owned(),
            kind,
        })
    }

    /// Whether the pattern matches exactly one name.
    pub fn is_literal(&self) -> bool {
        matches!(self.kind, GlobKind::Literal)
    }

    /// Whether the whole name matches. The cost is at most proportional to the product
    /// of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        match &self.kind {
            GlobKind::Literal => name == self.pattern,
            GlobKind::Marks(marks) => matches(marks, name),
            GlobKind::Rich(regex) => regex.is_match(name),
        }
    }
}

/// Compares patterns as written.
impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        let rich = |glob: &Self| matches!(glob.kind, GlobKind::Rich(_));
        self.pattern == other.pattern && rich(self) == rich(other)
    }
}

impl Eq for Glob {}

/// The pattern as written.
impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Glob").field(&self.pattern).finish()
    }
}

fn matches(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    // Where to resume when the last star consumes one more character.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_match_any_text_and_question_marks_one_character() {
        for (pattern, name, matches) in [
            ("coder", "coder", true),
            ("coder", "coder2", false),
            ("*", "", true),
            ("*", "a/b:c", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "a1b2b3", false),
            ("?ß", "xß", true),
            ("?", "", false),
            ("**a", "ba", true),
            ("sonnet[1m]", "sonnet[1m]", true),
            ("*[1m]", "sonnet[1m]", true),
            ("*{a,b}", "xa", false),
        ] {
            assert_eq!(
                Glob::new(pattern).matches(name),
                matches,
                "{pattern} {name}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_name_with_inserted_stars_still_matches(name in "[a-c]{0,8}", at in 0usize..8) {
            let at = at.min(name.len());
            let pattern = format!("{}*{}", &name[..at], &name[at..]);
            prop_assert!(Glob::new(&pattern).matches(&name));
            prop_assert!(Glob::new(&name).matches(&name));
        }
    }
}
