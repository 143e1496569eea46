//! Estimates the tokens of a text by character class.
//!
//! Current byte-pair encodings merge similarly: four to five Latin letters per
//! token, three digits, one or two punctuation marks, two to three letters of other
//! alphabets, and little more than one character of Chinese, Japanese or Korean.

/// Fixed-point unit: weights are in sixtieths of a token.
const TOKEN: u64 = 60;

/// Estimates the tokens of a text.
pub(crate) fn estimate_text(text: &str) -> u64 {
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
        // Kana and Hangul, then Han.
        '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => 50,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' => 54,
        // Emoji, symbols and rare scripts are encoded byte by byte.
        _ => 120,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_are_estimated_within_a_third_of_their_count() {
        // Counted with o200k_base.
        for (real, text) in SAMPLES {
            let estimated = estimate_text(text);
            let (low, high) = (real * 2 / 3, real.div_ceil(3) * 4);
            assert!(
                (low..=high).contains(&estimated),
                "{estimated} for {real}: {text}"
            );
        }
    }

    #[test]
    fn an_empty_text_has_no_tokens() {
        assert_eq!(estimate_text(""), 0);
        assert_eq!(estimate_text("a"), 1);
    }

    #[cfg(feature = "exact-tokens")]
    #[test]
    fn the_sample_counts_are_exact() {
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
