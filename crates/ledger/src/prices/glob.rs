//! Names of models in the price table: `*` is any text, `#` a digit.

/// Whether `name` matches `pattern`. Both are lower-case.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where to continue when a mismatch follows the last star.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let same = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'#') => name[n].is_ascii_digit(),
            Some(byte) => *byte == name[n],
            None => false,
        };
        if same {
            (p, n) = (p + 1, n + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, n) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Whether `name` matches one of the alternatives, separated by spaces. Within one, `&`
/// joins patterns that must all match and `!` negates.
pub(crate) fn matches_any(alternatives: &str, name: &str) -> bool {
    let one = |pattern: &str| match pattern.strip_prefix('!') {
        Some(pattern) => !matches(pattern, name),
        None => matches(pattern, name),
    };
    alternatives
        .split(' ')
        .any(|alternative| alternative.split('&').all(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_their_table_says() {
        for (pattern, name, expected) in [
            ("gpt-6", "gpt-6", true),
            ("gpt-6", "gpt-6-pro", false),
            ("gpt-6*", "gpt-6-pro", true),
            ("*mini", "gpt-6-mini", true),
            ("*flash*", "gemini-3-flash-x", true),
            ("a-####", "a-2026", true),
            ("a-####", "a-202x", false),
            ("a*b*c", "axxbyybzc", true),
            ("a*b*c", "axxbyybz", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        assert!(matches_any("x gemini*&!*-tts", "gemini-3"));
        assert!(!matches_any("x gemini*&!*-tts", "gemini-3-tts"));
    }
}
