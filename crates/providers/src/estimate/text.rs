//! Estimates the tokens of a text by character class.
//!
//! Current byte-pair encodings merge similarly: four to five Latin letters per
//! token, three digits, one or two punctuation marks, two to three letters of other
//! alphabets, and little more than one character of Chinese, Japanese or Korean.

/// Fixed-point unit: weights are in sixtieths of a token.
const TOKEN: u64 = 60;

/// Bytes that are weighed at the same time, each in its own lane.
const LANES: usize = 32;
/// A one-byte lane can hold the sum of this many weights.
const BLOCK: usize = LANES * 6;

/// Estimates the tokens of a text.
pub(crate) fn estimate_text(text: &str) -> u64 {
    let (blocks, tail) = text.as_bytes().as_chunks::<BLOCK>();
    let mut parts = 0;
    for (index, block) in blocks.iter().enumerate() {
        parts += ascii_weights(block);
        if !block.is_ascii() {
            parts += other_weights(text, index * BLOCK, block);
        }
    }
    let ascii = tail
        .iter()
        .map(|byte| u64::from(WEIGHTS[usize::from(*byte)]));
    parts += ascii.sum::<u64>();
    if !tail.is_ascii() {
        parts += other_weights(text, blocks.len() * BLOCK, tail);
    }
    parts.div_ceil(TOKEN)
}

/// All text of a request is weighed if the target's window is known, so this compiles to
/// vector instructions.
fn ascii_weights(block: &[u8; BLOCK]) -> u64 {
    let mut lanes = [0u8; LANES];
    for row in block.as_chunks::<LANES>().0 {
        for (lane, byte) in lanes.iter_mut().zip(row) {
            *lane += ascii_weight(*byte);
        }
    }
    lanes.iter().map(|lane| u64::from(*lane)).sum()
}

/// The weights of all bytes, for short texts.
const WEIGHTS: [u8; 256] = {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        weights[byte] = ascii_weight(byte as u8);
        byte += 1;
    }
    weights
};

/// The weight of an ASCII character; bytes of other characters weigh nothing.
const fn ascii_weight(byte: u8) -> u8 {
    let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let space = byte == b' ';
    let digit = byte.wrapping_sub(b'0') < 10;
    let line = (byte == b'\n') | (byte == b'\t') | (byte == b'\r');
    let mark = !(letter | space | digit | line | (byte >= 0x80));
    // Branchless: exactly one class applies.
    (letter as u8 * 13)
        | (space as u8 * 3)
        | (digit as u8 * 38)
        | (line as u8 * 15)
        | (mark as u8 * 25)
}

/// The weights of the characters beyond ASCII that begin in these bytes, which begin at
/// `start`.
fn other_weights(text: &str, start: usize, bytes: &[u8]) -> u64 {
    let begins = |(_, byte): &(usize, &u8)| **byte >= 0xc0;
    let first = |(at, _): (usize, &u8)| text.get(start + at..)?.chars().next();
    let others = bytes.iter().enumerate().filter(begins).filter_map(first);
    others.map(weight).sum()
}

fn weight(c: char) -> u64 {
    match c {
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
    fn blocks_weigh_as_much_as_their_characters() {
        let one = |c: char| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => ascii_weight(byte).into(),
            _ => weight(c),
        };
        for c in ['a', '7', '\n', '~', 'é', 'я', '漢', '…', '😀'] {
            for position in 0..200 {
                let mut text = "x ".repeat(position);
                text.push(c);
                text.push_str(&"1,".repeat(200 - position));
                let parts: u64 = text.chars().map(one).sum();
                assert_eq!(
                    estimate_text(&text),
                    parts.div_ceil(TOKEN),
                    "{c} at {position}"
                );
            }
        }
    }

    #[test]
    fn ascii_is_weighed_by_class() {
        for (byte, weight) in [
            (b'a', 13),
            (b'z', 13),
            (b'A', 13),
            (b'Z', 13),
            (b'@', 25),
            (b'[', 25),
            (b'`', 25),
            (b'{', 25),
            (b' ', 3),
            (b'0', 38),
            (b'9', 38),
            (b'/', 25),
            (b':', 25),
            (b'\n', 15),
            (b'\t', 15),
            (b'\r', 15),
            (0, 25),
            (0x7f, 25),
            (0x80, 0),
            (0xff, 0),
        ] {
            assert_eq!(ascii_weight(byte), weight, "{byte}");
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
