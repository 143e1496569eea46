//! Truncates untrusted text.

/// The longest prefix of at most `longest` bytes that ends at a character boundary.
pub(crate) fn clip(text: &str, longest: usize) -> &str {
    let mut ends = (0..=longest.min(text.len())).rev();
    let end = ends.find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_never_split() {
        for (longest, head) in [(0, ""), (1, "a"), (2, "a"), (3, "aü"), (99, "aüb")] {
            assert_eq!(clip("aüb", longest), head);
        }
    }
}
