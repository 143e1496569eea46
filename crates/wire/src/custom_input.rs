//! The input of custom tools, which is a text instead of JSON arguments.
//!
//! The contract has functions only, so a custom tool is carried as a function whose one
//! argument is the string `input`. This module converts between the two forms, whole and
//! in fragments of any size.
//!
//! Uses `json` only.

use std::borrow::Cow;

use bytes::BytesMut;
use majordomo_llm::Json;

use crate::json::{self, write_string};

/// The beginning and end of a call's arguments.
pub(crate) const ARGUMENTS_START: &str = r#"{"input":""#;
pub(crate) const ARGUMENTS_END: &str = r#""}"#;

/// The parameters of the function that stands for a custom tool.
pub(crate) fn input_parameters() -> Json {
    json::keep(
        r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}"#,
    )
}

/// Adds the required format of the input to a tool's description, for models that are not
/// constrained by it.
pub(crate) fn describe_format(description: Option<&str>, format: Option<&str>) -> Option<String> {
    let grammar = format.and_then(|format| {
        let format: serde_json::Value = serde_json::from_str(format).ok()?;
        // Chat Completions nests the fields that Responses has flat.
        let grammar = format.get("grammar").unwrap_or(&format);
        let definition = grammar.get("definition")?.as_str()?.to_owned();
        let syntax = grammar.get("syntax").and_then(|syntax| syntax.as_str());
        Some(match syntax {
            Some("regex") => {
                format!("The input must match this regular expression:\n{definition}")
            }
            syntax => {
                let syntax = syntax.unwrap_or("lark");
                format!("The input must match this grammar ({syntax}):\n{definition}")
            }
        })
    });
    match (description, grammar) {
        (description, None) => description.map(str::to_owned),
        (None | Some(""), Some(grammar)) => Some(grammar),
        (Some(description), Some(grammar)) => Some(format!("{description}\n\n{grammar}")),
    }
}

/// Returns the arguments that carry an input.
pub(crate) fn wrap_input(input: &str) -> String {
    format!("{ARGUMENTS_START}{}{ARGUMENTS_END}", escape_input(input))
}

/// Returns a fragment of an input as a fragment of the arguments.
pub(crate) fn escape_input(fragment: &str) -> String {
    let mut out = BytesMut::new();
    write_string(&mut out, fragment);
    let quoted = String::from_utf8_lossy(&out);
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the input that arguments carry. Models do not always keep to the schema: the
/// only string of an object counts too, and anything else is the input itself.
pub(crate) fn unwrap_input(arguments: &str) -> Cow<'_, str> {
    let mut decoder = InputDecoder::default();
    let input = decoder.push(arguments);
    if decoder.has_begun() {
        return Cow::Owned(input);
    }
    let parsed: Option<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_str(arguments).ok();
    let Some(mut fields) = parsed else {
        return Cow::Borrowed(arguments);
    };
    let value = fields.remove("input").or_else(|| {
        let mut values = fields.into_iter().map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    });
    match value {
        Some(serde_json::Value::String(text)) => Cow::Owned(text),
        Some(_) => Cow::Borrowed(arguments),
        None => Cow::Borrowed(if json::is_empty(arguments.trim()) {
            ""
        } else {
            arguments
        }),
    }
}

/// Decodes an input from fragments of the arguments.
///
/// Emits nothing for arguments that do not begin with `input`: [`unwrap_input`] handles these
/// when they are complete.
#[derive(Debug, Default)]
pub(crate) struct InputDecoder {
    state: DecoderState,
    /// The ambiguous beginning of the arguments or of an escape.
    pending: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DecoderState {
    /// Before the text.
    #[default]
    Head,
    /// Inside the text.
    Text,
    /// After the text, or in arguments of another form.
    End,
    Mismatch,
}

impl InputDecoder {
    /// Whether the text has begun, so that it was emitted.
    pub(crate) fn has_begun(&self) -> bool {
        matches!(self.state, DecoderState::Text | DecoderState::End)
    }

    /// Takes the next fragment and returns the text that it completes.
    pub(crate) fn push(&mut self, fragment: &str) -> String {
        let mut out = String::new();
        let mut rest = fragment;
        if self.state == DecoderState::Head {
            self.pending.push_str(fragment);
            match text_start(&self.pending) {
                HeadMatch::Incomplete => return out,
                HeadMatch::Mismatch => {
                    self.state = DecoderState::Mismatch;
                    return out;
                }
                HeadMatch::At(start) => {
                    let behind = self.pending.len() - start;
                    rest = &fragment[fragment.len() - behind.min(fragment.len())..];
                    self.pending.clear();
                    self.state = DecoderState::Text;
                }
            }
        }
        for c in rest.chars() {
            if self.state != DecoderState::Text {
                break;
            }
            self.decode(c, &mut out);
        }
        out
    }

    fn decode(&mut self, c: char, out: &mut String) {
        // Half of a surrogate pair, without the other half.
        if self.pending.len() == 6 && c != '\\' {
            out.push(char::REPLACEMENT_CHARACTER);
            self.pending.clear();
        } else if self.pending.len() == 7 && c != 'u' {
            out.push(char::REPLACEMENT_CHARACTER);
            self.pending.drain(..6);
        }
        if self.pending.is_empty() {
            match c {
                '"' => self.state = DecoderState::End,
                '\\' => self.pending.push(c),
                c => out.push(c),
            }
            return;
        }
        self.pending.push(c);
        if let Some(text) = decode_escape(&self.pending) {
            out.push_str(&text);
            self.pending.clear();
        }
    }
}

/// Decodes an escape sequence, with both halves of a surrogate pair; `None` if it is
/// incomplete.
fn decode_escape(escape: &str) -> Option<String> {
    let length = match escape.as_bytes().get(1)? {
        b'u' => {
            let unit = escape.get(2..6).map(|hex| u16::from_str_radix(hex, 16));
            match unit {
                Some(Ok(0xD800..0xDC00)) => 12,
                _ => 6,
            }
        }
        _ => 2,
    };
    if escape.chars().count() < length {
        return None;
    }
    let decoded = serde_json::from_str(&format!("\"{escape}\""));
    Some(decoded.unwrap_or_else(|_| char::REPLACEMENT_CHARACTER.to_string()))
}

enum HeadMatch {
    Incomplete,
    Mismatch,
    /// The start of the text.
    At(usize),
}

/// Finds the start of the text in `{"input":"…`, which may contain whitespace.
fn text_start(arguments: &str) -> HeadMatch {
    let mut at = 0;
    for token in ["{", "\"input\"", ":", "\""] {
        let rest = &arguments[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.len() < token.len() && token.starts_with(trimmed) {
            return HeadMatch::Incomplete;
        }
        if !trimmed.starts_with(token) {
            return HeadMatch::Mismatch;
        }
        at += token.len();
    }
    HeadMatch::At(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_input_is_found_in_every_form_that_models_write() {
        for (arguments, input) in [
            (r#"{"input":"ls -l"}"#, "ls -l"),
            (" {\n \"input\" : \"a\\nb\" } ", "a\nb"),
            (r#"{"input":"cut of"#, "cut of"),
            (r#"{"input":"\ud83d"}"#, "\u{fffd}"),
            (r#"{"input":"\ud83d\n\ud83d\ude00"}"#, "\u{fffd}\n😀"),
            (r#"{"input":"ls","note":1}"#, "ls"),
            (r#"{"note":1,"input":"ls"}"#, "ls"),
            (r#"{"patch":"*** Begin"}"#, "*** Begin"),
            (r#"{"a":"x","b":"y"}"#, r#"{"a":"x","b":"y"}"#),
            (r#"{"input":{"a":1}}"#, r#"{"input":{"a":1}}"#),
            ("*** Begin Patch", "*** Begin Patch"),
            ("{}", ""),
            ("", ""),
        ] {
            assert_eq!(unwrap_input(arguments), input, "{arguments}");
        }
    }

    #[test]
    fn grammars_are_described_in_words() {
        let lark = r#"{"type":"grammar","syntax":"lark","definition":"start: x"}"#;
        let regex = r#"{"type":"grammar","grammar":{"syntax":"regex","definition":"a+"}}"#;
        let described = |text, format| describe_format(text, Some(format)).unwrap_or_default();
        assert_eq!(
            described(Some("Edits."), lark),
            "Edits.\n\nThe input must match this grammar (lark):\nstart: x"
        );
        assert_eq!(
            described(None, regex),
            "The input must match this regular expression:\na+"
        );
        assert_eq!(described(Some("Edits."), r#"{"type":"text"}"#), "Edits.");
        assert_eq!(describe_format(None, None), None);
    }

    proptest! {
        #[test]
        fn inputs_survive_wrapping_in_fragments_of_any_size(
            input in r#"(\PC|["\\{}\n\r\t\u{0}-\u{1f}😀]){0,40}"#,
            sizes in prop::collection::vec(1usize..5, 1..20),
            escaped: bool,
        ) {
            let arguments = match escaped {
                // As a server writes it that escapes everything beyond ASCII.
                true => {
                    let units = input.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
                    format!("{ARGUMENTS_START}{}{ARGUMENTS_END}", units.collect::<String>())
                }
                false => wrap_input(&input),
            };
            let chars: Vec<char> = arguments.chars().collect();
            let mut decoder = InputDecoder::default();
            let mut decoded = String::new();
            let mut at = 0;
            for size in sizes.iter().cycle() {
                if at >= chars.len() { break; }
                let end = (at + size).min(chars.len());
                decoded += &decoder.push(&chars[at..end].iter().collect::<String>());
                at = end;
            }
            prop_assert_eq!(&decoded, &input);
            prop_assert_eq!(unwrap_input(&arguments), input);
        }

        #[test]
        fn no_arguments_cause_a_panic(arguments in r#"(\{"input":")?.{0,40}"#) {
            let _ = unwrap_input(&arguments);
        }
    }
}
