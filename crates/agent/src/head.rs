//! The beginning of a text.

/// At most `longest` bytes from the start, ending with a whole character.
pub(crate) fn head(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
    let end = (0..=longest).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_split() {
        assert_eq!(head("aäb", 2), "a");
        assert_eq!(head("aäb", 3), "aä");
        assert_eq!(head("aäb", 9), "aäb");
        assert_eq!(head("ä", 0), "");
    }
}
