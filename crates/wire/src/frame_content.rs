//! The content of a stream's frame, found without parsing the frame.
//!
//! For streams that are forwarded as bytes: their output is counted, but not decoded.
//! A frame in an unusual notation is not recognized and counts as empty.
//! Uses no sibling module.

use memchr::{memchr2, memmem};

/// Content of one frame, still escaped as in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameContent<'a> {
    /// A delta of text, reasoning or arguments.
    Delta(&'a [u8]),
    /// The name of a call that begins.
    Call(&'a [u8]),
    /// A whole call.
    WholeCall {
        /// Its name.
        name: &'a [u8],
        /// Its arguments.
        arguments: &'a [u8],
    },
    /// None.
    Nothing,
}

/// The first non-empty text under one of the keys.
pub(crate) fn first_text<'a>(frame: &'a [u8], keys: &[memmem::Finder<'_>]) -> Option<&'a [u8]> {
    keys.iter().find_map(|key| text_of(frame, key))
}

/// The text under the first occurrence of a key, unless it is empty or not a string.
fn text_of<'a>(frame: &'a [u8], key: &memmem::Finder<'_>) -> Option<&'a [u8]> {
    let value = key.find_iter(frame).find_map(|at| {
        let rest = &frame[at + key.needle().len()..];
        // The same word may be a value.
        rest.trim_ascii_start().strip_prefix(b":")
    })?;
    let text = value.trim_ascii_start().strip_prefix(b"\"")?;
    let mut end = 0;
    loop {
        end += memchr2(b'"', b'\\', text.get(end..)?)?;
        if text[end] == b'"' {
            return (end > 0).then(|| &text[..end]);
        }
        end += 2;
    }
}

#[cfg(test)]
mod tests {
    use crate::Protocol;

    use super::*;

    #[test]
    fn the_content_of_a_frame_is_found_in_every_dialect() {
        use FrameContent::{Call, Delta, Nothing, WholeCall};
        let cases = [
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"content":"a \"b\" \\"}}]}"#,
                Delta(br#"a \"b\" \\"#),
            ),
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
                Nothing,
            ),
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"content":null,"reasoning_content":"so"}}]}"#,
                Delta(b"so"),
            ),
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}"#,
                Delta(b"hm"),
            ),
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":""}}]}}]}"#,
                Call(b"look"),
            ),
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a"}}]}}]}"#,
                Delta(br#"{\"a"#),
            ),
            (
                Protocol::Chat,
                r#"data: {"choices": [{"delta": {"content": "spaced"}}]}"#,
                Delta(b"spaced"),
            ),
            (
                Protocol::Responses,
                r#"data: {"type":"response.output_text.delta","delta":"hi","obfuscation":"xy"}"#,
                Delta(b"hi"),
            ),
            (
                Protocol::Responses,
                r#"data: {"type":"response.output_text.done","text":"hi"}"#,
                Nothing,
            ),
            (
                Protocol::Responses,
                r#"data: {"type":"response.output_item.added","item":{"type":"function_call","name":"look","arguments":""}}"#,
                Call(b"look"),
            ),
            (
                Protocol::Responses,
                r#"data: {"type":"response.output_item.done","item":{"type":"function_call","name":"look","arguments":"{}"}}"#,
                Nothing,
            ),
            (
                Protocol::Messages,
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}",
                Delta(b"hi"),
            ),
            (
                Protocol::Messages,
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}",
                Delta(b"hm"),
            ),
            (
                Protocol::Messages,
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"look\",\"input\":{}}}",
                Call(b"look"),
            ),
            (
                Protocol::Messages,
                "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"web_search_tool_result\",\"content\":[{\"text\":\"page\"}]}}",
                Nothing,
            ),
            (
                Protocol::Gemini,
                r#"data: {"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}"#,
                Delta(b"hi"),
            ),
            (
                Protocol::Gemini,
                r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#,
                Call(b"f"),
            ),
            (
                Protocol::Ollama,
                r#"{"message":{"role":"assistant","content":"hi"},"done":false}"#,
                Delta(b"hi"),
            ),
            (
                Protocol::Ollama,
                r#"{"message":{"role":"assistant","content":"","thinking":"hm"}}"#,
                Delta(b"hm"),
            ),
            (
                Protocol::Chat,
                r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}","name":"f"}}]}}]}"#,
                WholeCall {
                    name: b"f",
                    arguments: b"{}",
                },
            ),
            (
                Protocol::Ollama,
                r#"{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}}"#,
                WholeCall {
                    name: b"f",
                    arguments: br#"{"a":1"#,
                },
            ),
        ];
        for (protocol, frame, expected) in cases {
            let reader = protocol.codec().stream_reader();
            assert_eq!(
                reader.content(frame.as_bytes()),
                expected,
                "{protocol:?} {frame}"
            );
        }
    }

    #[test]
    fn a_cut_frame_has_no_content_and_does_no_harm() {
        let whole = r#"data: {"choices":[{"delta":{"content":"a\"b"}}]}"#.as_bytes();
        let reader = Protocol::Chat.codec().stream_reader();
        for end in 0..=whole.len() {
            reader.content(&whole[..end]);
        }
    }
}
