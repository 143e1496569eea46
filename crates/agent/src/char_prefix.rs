//! Truncation of text at character boundaries.

/// Returns the longest prefix of at most `max_len` bytes that ends at a character boundary.
pub(crate) fn char_prefix(text: &str, max_len: usize) -> &str {
    if text.len() <= max_len {
        return text;
    }
    let end = (0..=max_len).rev().find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_split() {
        assert_eq!(char_prefix("aäb", 2), "a");
        assert_eq!(char_prefix("aäb", 3), "aä");
        assert_eq!(char_prefix("aäb", 9), "aäb");
        assert_eq!(char_prefix("ä", 0), "");
    }
}
