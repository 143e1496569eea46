//! Counts the output tokens that arrive, for streams that are cut before the provider reports
//! its usage.
//!
//! No vocabulary is needed. Most servers send one token per delta: if nearly every delta is a
//! single piece of text, the deltas are counted. Otherwise the text is split as byte-pair
//! encoders split it before they merge (a word with the blank before it, three digits, a run
//! of marks), and long pieces count for more than one token. The tokens that a model writes
//! around a call are added for each call. Tokens that never arrive, such as hidden reasoning,
//! are not counted. Uses `event`, `part` and `tokenizer_family` only.

use std::ops::AddAssign;

use crate::{Event, Part, TokenizerFamily};

/// Fixed point: weights are in sixtieths of a token.
const TOKEN: u64 = 60;
/// Tokens that a model writes around a call, besides its name and arguments.
const PER_CALL: u64 = 8 * TOKEN;
/// The channel and the end of a message, in OpenAI's Harmony format.
const PER_HARMONY_MESSAGE: u64 = 4 * TOKEN;
/// Claude's calls are tagged texts.
const PER_CLAUDE_CALL: u64 = 38 * TOKEN;
/// Claude's pieces are smaller: its tokens per ten tokens of other models.
const CLAUDE_TENTHS: u64 = 11;
/// The letters of a word that are likely one token.
const SHORT_WORD: u32 = 6;
/// The maximum weight of one token, such as a long word or several Chinese characters.
const LONG_TOKEN: u64 = TOKEN * 5 / 2;

/// The countable output that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCount {
    /// Deltas that carry text, reasoning or arguments.
    deltas: u64,
    /// Deltas that may be one token.
    single: u64,
    /// Weights of the text of all deltas.
    weight: u64,
    calls: u64,
    /// Weights of what precedes the arguments of calls.
    call_weight: u64,
}

impl OutputCount {
    /// Estimates the tokens.
    ///
    /// ```
    /// use majordomo_llm::{Event, OutputCount, OutputCounter, TokenizerFamily};
    ///
    /// let mut counter = OutputCounter::default();
    /// let mut count = OutputCount::default();
    /// for delta in ["The", " bridge", " is", " closed", "."] {
    ///     count += counter.event(&Event::Text(delta.into()));
    /// }
    /// assert_eq!(count.tokens(TokenizerFamily::of("gpt-6")), 5);
    /// ```
    pub fn tokens(&self, family: TokenizerFamily) -> u64 {
        if family == TokenizerFamily::Claude {
            let text = (self.weight + self.call_weight) * CLAUDE_TENTHS / 10;
            return (text + self.calls * PER_CLAUDE_CALL).div_ceil(TOKEN);
        }
        let token_by_token = self.single * 10 >= self.deltas * 8;
        let text = if token_by_token {
            self.deltas * TOKEN
        } else {
            self.weight
        };
        let message = match family {
            TokenizerFamily::Harmony if *self != Self::default() => PER_HARMONY_MESSAGE,
            _ => 0,
        };
        (text + message + self.call_weight + self.calls * PER_CALL).div_ceil(TOKEN)
    }
}

impl AddAssign for OutputCount {
    fn add_assign(&mut self, other: Self) {
        self.deltas += other.deltas;
        self.single += other.single;
        self.weight += other.weight;
        self.calls += other.calls;
        self.call_weight += other.call_weight;
    }
}

/// Counts the deltas of one response. A word may span several deltas.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputCounter {
    piece: Piece,
    /// Its characters so far.
    len: u32,
    /// Whether a blank precedes it.
    spaced: bool,
    weight: u64,
}

/// The kind of piece that the last characters form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Piece {
    #[default]
    None,
    Word,
    Digits,
    Marks,
    Blanks,
    Lines,
    /// Characters of scripts without spaces, and symbols.
    Wide,
}

impl OutputCounter {
    /// Counts an event.
    pub fn event(&mut self, event: &Event) -> OutputCount {
        match event {
            Event::Text(text) | Event::Refusal(text) | Event::Reasoning(text) => self.text(text),
            Event::Part(part) => self.part(part),
            Event::ToolCallStart { name, .. } => self.call(name.as_bytes()),
            Event::ToolCallArguments { fragment, .. } => self.text(fragment),
            Event::Start { .. }
            | Event::EndPart(_)
            | Event::ToolCallEnd { .. }
            | Event::Usage(_)
            | Event::Finish(_) => OutputCount::default(),
        }
    }

    /// Counts a part of a whole response.
    pub fn part(&mut self, part: &Part) -> OutputCount {
        match part {
            Part::Text(part) | Part::Refusal(part) => self.text(&part.text),
            Part::Reasoning(part) => self.text(&part.text),
            Part::ToolCall(call) => {
                let mut count = self.call(call.name.as_bytes());
                count += self.text(&call.arguments);
                count
            }
            // A call that the provider runs itself is written by the model, too, but the block
            // also holds text that the model did not write.
            Part::Opaque(block)
                if block.kind.ends_with("_use") || block.kind.ends_with("_call") =>
            {
                self.call(b"")
            }
            Part::ToolResult(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::File(_)
            | Part::Opaque(_) => OutputCount::default(),
        }
    }

    /// Counts a delta.
    pub fn text(&mut self, text: &str) -> OutputCount {
        self.delta(text.bytes())
    }

    /// Counts a delta that is still escaped as in JSON.
    pub fn escaped(&mut self, json: &[u8]) -> OutputCount {
        self.delta(Unescaped(json))
    }

    /// Counts the start of a call, whose arguments follow as deltas.
    pub fn call(&mut self, name: &[u8]) -> OutputCount {
        *self = Self::default();
        name.iter().for_each(|byte| {
            self.step(*byte);
        });
        let call_weight = std::mem::take(self).weight;
        OutputCount {
            calls: 1,
            call_weight,
            ..OutputCount::default()
        }
    }

    fn delta(&mut self, bytes: impl Iterator<Item = u8>) -> OutputCount {
        let before = self.weight;
        let (mut pieces, mut is_empty) = (0, true);
        for byte in bytes {
            is_empty = false;
            let began = self.step(byte);
            // A continuation of the last delta is a piece of this one. A blank belongs to the
            // piece that follows it.
            pieces += u32::from(began || (pieces == 0 && byte != b' '));
        }
        OutputCount {
            deltas: u64::from(!is_empty),
            single: u64::from(!is_empty && pieces <= 1 && self.weight - before <= LONG_TOKEN),
            weight: self.weight - before,
            ..OutputCount::default()
        }
    }

    /// Takes the next byte. Returns whether it begins a piece.
    fn step(&mut self, byte: u8) -> bool {
        use Piece::{Blanks, Digits, Lines, Marks, Wide, Word};
        let (piece, len) = (self.piece, self.len);
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' if piece == Word => {
                self.len += 1;
                self.weight += if len >= SHORT_WORD { 6 } else { 0 };
                false
            }
            // One mark joins the word behind it.
            b'a'..=b'z' | b'A'..=b'Z' if piece == Marks && len == 1 && !self.spaced => {
                self.piece = Word;
                false
            }
            b'a'..=b'z' | b'A'..=b'Z' => self.begin(Word, TOKEN),
            b'0'..=b'9' if piece == Digits && len % 3 != 0 => {
                self.len += 1;
                false
            }
            // A blank does not join a number.
            b'0'..=b'9' => self.begin(Digits, if piece == Blanks { TOKEN + 45 } else { TOKEN }),
            b' ' if piece == Blanks || piece == Lines => {
                self.len += 1;
                self.weight += if piece == Blanks && len == 1 {
                    TOKEN
                } else {
                    0
                };
                false
            }
            b' ' => {
                (self.piece, self.len) = (Blanks, 1);
                false
            }
            b'\n' | b'\r' | b'\t' if piece == Marks || piece == Lines => {
                self.piece = Lines;
                false
            }
            b'\n' | b'\r' | b'\t' => self.begin(Lines, TOKEN),
            // Latin letters with accents, Greek, Cyrillic, Hebrew, Arabic.
            0xc3..=0xdf if piece == Word => {
                self.len += 1;
                self.weight += 15;
                false
            }
            0xc3..=0xdf => self.begin(Word, TOKEN),
            // The rest of a character.
            0x80..=0xbf => false,
            0xc0..=0xff => {
                let began = piece != Wide;
                (self.piece, self.len) = (Wide, 1);
                self.weight += match byte {
                    0xe2 | 0xc0..=0xc2 => 45,
                    0xe0..=0xe1 => 30,
                    0xe3..=0xef => 50,
                    _ => 100,
                };
                began
            }
            _ if piece == Marks => {
                self.len += 1;
                self.weight += if len >= 2 { 24 } else { 0 };
                false
            }
            _ => self.begin(Marks, TOKEN),
        }
    }

    fn begin(&mut self, piece: Piece, weight: u64) -> bool {
        self.spaced = self.piece == Piece::Blanks;
        (self.piece, self.len) = (piece, 1);
        self.weight += weight;
        true
    }
}

/// The bytes of a JSON string's text. Escaped characters beyond ASCII become one byte that
/// weighs about as much.
struct Unescaped<'a>(&'a [u8]);

impl Iterator for Unescaped<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        if *first != b'\\' {
            return Some(*first);
        }
        let (kind, rest) = rest.split_first()?;
        self.0 = rest;
        Some(match kind {
            b'n' | b'r' => b'\n',
            b't' => b'\t',
            b'u' => {
                let digits = rest.get(..4).unwrap_or(rest);
                self.0 = &rest[digits.len()..];
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                match u32::from_str_radix(digits, 16).unwrap_or_default() {
                    code @ 0..=0x7f => code as u8,
                    0x80..=0xbf | 0x2000..=0x2fff => 0xe2,
                    0xc0..=0x7ff => 0xc3,
                    0x800..=0x1fff => 0xe0,
                    // Half of a pair, of which each weighs half.
                    0xd800..=0xdfff => 0xe3,
                    _ => 0xe3,
                }
            }
            other => *other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(deltas: &[&str]) -> u64 {
        let mut counter = OutputCounter::default();
        let mut count = OutputCount::default();
        for delta in deltas {
            count += counter.text(delta);
        }
        count.tokens(TokenizerFamily::Other)
    }

    #[test]
    fn deltas_of_one_token_each_are_counted() {
        let deltas = [
            "Inter", "national", "ization", " takes", " ", "12", " steps", ".\n\n",
        ];
        assert_eq!(tokens(&deltas), 8);
    }

    #[test]
    fn a_text_in_large_deltas_is_counted_by_its_pieces() {
        let text = "The committee will meet again on Thursday afternoon to decide whether the \
            bridge can be repaired before winter, or whether a new one must be built a little \
            further down the river.";
        // 34 by o200k.
        let whole = tokens(&[text]);
        assert!((31..=38).contains(&whole), "{whole}");
        let (front, back) = text.split_at(43);
        assert_eq!(tokens(&[front, back]), whole, "words span deltas");
    }

    #[test]
    fn an_escaped_delta_counts_like_its_text() {
        for text in [
            "one \"two\"\n\nthree\\four\t5",
            "für Élise",
            "a\u{7}b",
            "日本 🙂",
        ] {
            let json = serde_json::to_string(text).unwrap();
            let json = &json.as_bytes()[1..json.len() - 1];
            let plain = OutputCounter::default().text(text);
            let escaped = OutputCounter::default().escaped(json);
            assert_eq!(
                (plain.weight, plain.single),
                (escaped.weight, escaped.single),
                "{text}"
            );
        }
    }

    #[test]
    fn a_call_counts_with_what_is_written_around_it() {
        let mut counter = OutputCounter::default();
        let mut count = counter.call(b"get_weather");
        count += counter.text("{\"city\":");
        count += counter.text("\"Paris\"}");
        assert!(
            (12..=22).contains(&count.tokens(TokenizerFamily::Other)),
            "{count:?}"
        );
        assert!(
            (40..=60).contains(&count.tokens(TokenizerFamily::of("anthropic/Claude-x"))),
            "{count:?}"
        );
    }

    #[test]
    fn nothing_counts_nothing_and_any_bytes_are_counted_without_a_panic() {
        assert_eq!(tokens(&[]), 0);
        assert_eq!(tokens(&[""]), 0);
        for json in [
            "\\",
            "\\u",
            "\\u12",
            "\\uzzzz",
            "\\ud83d\\ude42",
            "\u{ff}\\",
        ] {
            OutputCounter::default().escaped(json.as_bytes());
        }
        let every: Vec<u8> = (0..=255).collect();
        OutputCounter::default().escaped(&every);
    }
}
