//! Names with `*` and `?` in them.

/// A pattern for model names: `*` is any text, `?` any one character, and
/// everything else is itself. It must match the whole name.
///
/// ```
/// use majordomo_gateway::config::Glob;
///
/// let claude = Glob::new("claude-*");
/// assert!(claude.matches("claude-opus-5-5") && !claude.matches("my-claude-1"));
/// assert!(Glob::new("demo/*").matches("demo/text"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: Vec<char>,
    literal: bool,
}

impl Glob {
    /// Reads a pattern; every text is one.
    pub fn new(pattern: &str) -> Self {
        Self {
            pattern: pattern.chars().collect(),
            literal: !pattern.contains(['*', '?']),
        }
    }

    /// Whether it stands for one name only.
    pub fn is_literal(&self) -> bool {
        self.literal
    }

    /// Whether the whole name matches. The work grows with the product of both
    /// lengths at worst, whatever the pattern.
    pub fn matches(&self, name: &str) -> bool {
        if self.literal {
            return name.chars().eq(self.pattern.iter().copied());
        }
        let name: Vec<char> = name.chars().collect();
        let (mut p, mut n) = (0, 0);
        // Where to go on when the last star takes one character more.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match self.pattern.get(p) {
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
        self.pattern[p..].iter().all(|c| *c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_take_any_text_and_question_marks_one_character() {
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
        fn a_name_with_stars_put_in_still_matches(name in "[a-c]{0,8}", at in 0usize..8) {
            let at = at.min(name.len());
            let pattern = format!("{}*{}", &name[..at], &name[at..]);
            prop_assert!(Glob::new(&pattern).matches(&name));
            prop_assert!(Glob::new(&name).matches(&name));
        }
    }
}
