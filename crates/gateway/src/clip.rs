//! The head of a text that somebody else wrote, for places that must stay small.

/// At most so many bytes of a text, ended between two characters.
pub(crate) fn clip(text: &str, longest: usize) -> &str {
    let mut ends = (0..=longest.min(text.len())).rev();
    let end = ends.find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut_in_two() {
        for (longest, head) in [(0, ""), (1, "a"), (2, "a"), (3, "aü"), (99, "aüb")] {
            assert_eq!(clip("aüb", longest), head);
        }
    }
}
