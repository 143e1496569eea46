//! Makes characters visible that would reorder the text around them.
//!
//! Names come from clients. A control character in one of them could reverse a sentence or
//! pass one target off as another.

/// Controls of the bidirectional algorithm.
fn reorders(letter: char) -> bool {
    matches!(
        letter,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Replaces the controls in a page by their code points.
pub(crate) fn visible(html: String) -> String {
    if !html.contains(reorders) {
        return html;
    }
    let mut shown = String::with_capacity(html.len() + 16);
    for letter in html.chars() {
        match reorders(letter) {
            true => shown.push_str(&format!("[U+{:04X}]", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_shown_and_letters_of_every_script_stay() {
        let text = "up/\u{202e}gpj.exe \u{2066}x\u{2069}".to_owned();
        assert_eq!(visible(text), "up/[U+202E]gpj.exe [U+2066]x[U+2069]");
        let text = "שלום, مرحبا, 你好 →".to_owned();
        assert_eq!(visible(text.clone()), text);
    }
}
