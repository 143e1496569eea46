//! Guesses the tokens of a text by the kind of its characters.
//!
//! Byte-pair encodings of today agree roughly on what they merge: words of Latin
//! letters to four or five characters a token, digits to three, marks one by
//! one or in pairs, other alphabets to two or three letters, and of Chinese,
//! Japanese and Korean hardly more than a character.

/// Parts of a token, so that the sum needs no fractions.
const TOKEN: u64 = 60;

/// The guess.
pub(crate) fn guess(text: &str) -> u64 {
    let parts: u64 = text.chars().map(weight).sum();
    parts.div_ceil(TOKEN)
}

fn weight(c: char) -> u64 {
    match c {
        'a'..='z' | 'A'..='Z' => 13,
        ' ' => 3,
        '0'..='9' => 38,
        '\n' | '\t' | '\r' => 15,
        '\0'..='\x7f' => 25,
        // Latin with accents, Greek, Cyrillic, Hebrew, Arabic.
        '\u{80}'..='\u{24f}' => 30,
        '\u{250}'..='\u{8ff}' => 24,
        // Scripts of South and South-East Asia.
        '\u{900}'..='\u{10ff}' => 30,
        // General punctuation.
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => 45,
        // Kana, Hangul, and what is most of Chinese.
        '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => 50,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => 54,
        // Emoji, symbols and rare scripts are spelled in bytes.
        _ => 120,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_are_guessed_within_a_third_of_their_real_count() {
        // Counted with o200k_base.
        for (real, text) in SAMPLES {
            let guessed = guess(text);
            let (low, high) = (real * 2 / 3, real.div_ceil(3) * 4);
            assert!(
                (low..=high).contains(&guessed),
                "{guessed} for {real}: {text}"
            );
        }
    }

    #[test]
    fn nothing_is_no_token() {
        assert_eq!(guess(""), 0);
        assert_eq!(guess("a"), 1);
    }

    #[cfg(feature = "exact-tokens")]
    #[test]
    fn the_real_counts_are_real() {
        for (real, text) in SAMPLES {
            assert_eq!(
                crate::estimate::count_text("gpt-6-sol", text),
                *real,
                "{text}"
            );
        }
    }

    const SAMPLES: &[(u64, &str)] = &[
        (
            34,
            "The committee will meet again on Thursday afternoon to decide whether the bridge can be repaired before winter, or whether a new one must be built a little further down the river.",
        ),
        (
            35,
            "fn main() {\n    let values: Vec<u32> = (0..10).map(|n| n * n).collect();\n    println!(\"{values:?}\");\n}\n",
        ),
        (
            32,
            r#"{"type":"object","properties":{"city":{"type":"string","description":"Where to look"},"days":{"type":"integer"}},"required":["city"]}"#,
        ),
        (
            37,
            "委员会将于星期四下午再次开会，决定这座桥能否在冬天之前修好，还是必须在下游不远处建一座新桥。",
        ),
        (
            31,
            "委員会は木曜日の午後に再び集まり、冬の前に橋を直せるかどうかを決めます。",
        ),
        (
            23,
            "위원회는 목요일 오후에 다시 모여 겨울 전에 다리를 고칠 수 있는지 결정합니다.",
        ),
        (
            26,
            "Комитет снова соберётся в четверг днём, чтобы решить, можно ли починить мост до зимы.",
        ),
        (
            25,
            "Der Ausschuss trifft sich am Donnerstag wieder, um zu entscheiden, ob die Brücke vor dem Winter repariert werden kann.",
        ),
        (
            36,
            "2026-11-15 22:50:09 UTC  310.5  4096  8192  16384  0.000125",
        ),
    ];
}
