//! Adds the call ids that a server left out to a response that is forwarded as
//! bytes.
//!
//! Chat Completions requires an id of every call, and some servers send none. All
//! other bytes stay as they are. Ids are optional in the other dialects whose
//! responses are forwarded, or every server sends them.

use std::borrow::Cow;
use std::ops::Range;

use bytes::{Bytes, BytesMut};
use majordomo_llm::ToolCall;
use memchr::memmem;

use crate::Protocol;
use crate::json::{self, Cursor, JsonKind, ReadResult};

/// The calls of one response that is forwarded as bytes.
///
/// ```
/// use bytes::Bytes;
/// use majordomo_wire::{ForwardedCalls, Protocol};
///
/// let body = r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"f"}}]}}]}"#;
/// let mut calls = ForwardedCalls::new(Protocol::Chat, 3);
/// assert_eq!(
///     calls.complete_body(Bytes::from(body)),
///     r#"{"choices":[{"message":{"tool_calls":[{"id":"call_3","function":{"name":"f"}}]}}]}"#
/// );
/// ```
#[derive(Debug)]
pub struct ForwardedCalls {
    protocol: Protocol,
    first_call: usize,
    /// The wire index of each call so far, in order of appearance.
    seen: Vec<Option<u64>>,
}

impl ForwardedCalls {
    /// Missing ids are numbered from `first_call`.
    pub fn new(protocol: Protocol, first_call: usize) -> Self {
        Self {
            protocol,
            first_call,
            seen: Vec::new(),
        }
    }

    /// Completes a whole response.
    pub fn complete_body(&mut self, body: Bytes) -> Bytes {
        if self.protocol != Protocol::Chat || !has_calls(&body) {
            return body;
        }
        match std::str::from_utf8(&body) {
            Ok(text) => apply(&body, &self.missing_ids(text, 0)),
            Err(_) => body,
        }
    }

    /// Completes whole frames of a stream.
    pub fn complete_frames(&mut self, frames: Bytes) -> Bytes {
        if self.protocol != Protocol::Chat || !has_calls(&frames) {
            return frames;
        }
        let mut edits = Vec::new();
        let mut start = 0;
        for line in frames.split_inclusive(|byte| *byte == b'\n') {
            let data = line.strip_prefix(b"data:");
            if let Some(Ok(text)) = data.map(std::str::from_utf8)
                && has_calls(line)
            {
                edits.extend(self.missing_ids(text, start + 5));
            }
            start += line.len();
        }
        apply(&frames, &edits)
    }

    /// The edits that add missing ids to a response or chunk, which begins at
    /// `base`. None if it cannot be read: the client will notice.
    fn missing_ids(&mut self, text: &str, base: usize) -> Vec<Edit> {
        let mut edits = Vec::new();
        let read = json::read_str(text, |cursor| {
            cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                ("choices", JsonKind::Array) => {
                    cursor.array(|cursor| self.read_choice(cursor, base, &mut edits))
                }
                _ => Ok(()),
            })
        });
        match read {
            Ok(()) => edits,
            Err(_) => Vec::new(),
        }
    }

    fn read_choice(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: usize,
        edits: &mut Vec<Edit>,
    ) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
            ("message" | "delta", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| match (&**key, cursor.peek()?) {
                    ("tool_calls", JsonKind::Array) => {
                        cursor.array(|cursor| self.read_call(cursor, base, edits))
                    }
                    _ => Ok(()),
                })
            }
            _ => Ok(()),
        })
    }

    fn read_call(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: usize,
        edits: &mut Vec<Edit>,
    ) -> ReadResult<()> {
        if cursor.peek()? != JsonKind::Object {
            return Ok(());
        }
        let inside = base + cursor.offset() + 1;
        let mut index = None;
        let mut named = false;
        let mut has_id = false;
        let mut empty_id = None;
        let mut fields = 0;
        cursor.loose_object(|key, cursor| {
            fields += 1;
            match (&**key, cursor.peek()?) {
                ("index", JsonKind::Number) => index = cursor.count()?,
                ("id", _) => {
                    let at = base + cursor.offset();
                    let raw = cursor.raw()?;
                    match json::is_empty(raw) {
                        true => empty_id = Some(at..at + raw.len()),
                        false => has_id = true,
                    }
                }
                ("function" | "custom", JsonKind::Object) => named |= names_a_tool(cursor)?,
                _ => {}
            }
            Ok(())
        })?;
        let is_new = match index {
            Some(_) => has_id && named || !self.seen.contains(&index),
            // Without an index, a name begins a call.
            None => has_id || named,
        };
        if !is_new {
            return Ok(());
        }
        let id = ToolCall::synthetic_id(self.first_call + self.seen.len());
        self.seen.push(index);
        if has_id {
            return Ok(());
        }
        edits.push(match empty_id {
            Some(range) => Edit::new(range, format!("\"{id}\"")),
            None => {
                let comma = if fields == 0 { "" } else { "," };
                Edit::new(inside..inside, format!("\"id\":\"{id}\"{comma}"))
            }
        });
        Ok(())
    }
}

fn names_a_tool(cursor: &mut Cursor<'_>) -> ReadResult<bool> {
    let mut named = false;
    cursor.loose_object(|key, cursor| {
        if key == "name" {
            named = cursor
                .maybe_string()?
                .is_some_and(|name: Cow<'_, str>| !name.is_empty());
        }
        Ok(())
    })?;
    Ok(named)
}

fn has_calls(bytes: &[u8]) -> bool {
    memmem::find(bytes, b"\"tool_calls\"").is_some()
}

/// Replaces a range of bytes.
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Edit {
    fn new(range: Range<usize>, text: String) -> Self {
        Self { range, text }
    }
}

/// Applies edits, which are in order.
fn apply(bytes: &Bytes, edits: &[Edit]) -> Bytes {
    if edits.is_empty() {
        return bytes.clone();
    }
    let mut out = BytesMut::with_capacity(bytes.len() + edits.len() * 20);
    let mut copied = 0;
    for edit in edits {
        out.extend_from_slice(&bytes[copied..edit.range.start]);
        out.extend_from_slice(edit.text.as_bytes());
        copied = edit.range.end;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(chunks: &[&str]) -> String {
        let mut calls = ForwardedCalls::new(Protocol::Chat, 2);
        let frames = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
        let completed = frames.map(|frame| calls.complete_frames(frame.into()));
        completed.fold(String::new(), |all, frame| {
            all + std::str::from_utf8(&frame).unwrap()
        })
    }

    #[test]
    fn missing_ids_of_a_whole_response_are_synthesized_and_all_other_bytes_kept() {
        let body = r#"{ "id":"r", "choices" : [ {"message":{"content":null,"tool_calls":[
            { "function":{"name":"a","arguments":"{}"}},
            {"id":"", "type":"function","function":{"name":"b"} },
            {"id": null,"function":{"name":"c"}}, {"id":"own","function":{"name":"d"}}, {}]}}],"x":1.0}"#;
        let expected = r#"{ "id":"r", "choices" : [ {"message":{"content":null,"tool_calls":[
            {"id":"call_2", "function":{"name":"a","arguments":"{}"}},
            {"id":"call_3", "type":"function","function":{"name":"b"} },
            {"id": "call_4","function":{"name":"c"}}, {"id":"own","function":{"name":"d"}}, {}]}}],"x":1.0}"#;
        let mut calls = ForwardedCalls::new(Protocol::Chat, 2);
        assert_eq!(calls.complete_body(body.into()), expected);
    }

    #[test]
    fn missing_ids_of_a_stream_are_synthesized_with_the_first_fragment_of_each_call() {
        let chunks = [
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"own","function":{"name":"b"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"","index":2,"function":{"name":"c"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ];
        let mut expected = chunks.map(str::to_owned);
        expected[1] = expected[1].replace(r#"{"index":0,"#, r#"{"id":"call_2","index":0,"#);
        expected[4] = expected[4].replace(r#""id":"""#, r#""id":"call_4""#);
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let unchanged = expected.iter().map(|chunk| format!("data: {chunk}\n\n"));
        assert_eq!(stream(&chunks), unchanged.collect::<String>());
    }

    #[test]
    fn calls_without_an_index_begin_with_their_name() {
        let chunk = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"function":{"name":"b","arguments":"{}"}}]}}]}"#;
        let completed = stream(&[chunk]);
        assert!(completed.contains(r#"{"id":"call_2","function":{"name":"a""#));
        assert!(completed.contains(r#"{"id":"call_3","function":{"name":"b""#));
    }

    #[test]
    fn complete_responses_and_other_dialects_are_not_touched() {
        let body = Bytes::from_static(
            br#"{"choices":[{"message":{"tool_calls":[{"id":"x","function":{"name":"a"}}]}}]}"#,
        );
        let same = |protocol, body: &Bytes| {
            let completed = ForwardedCalls::new(protocol, 0).complete_body(body.clone());
            completed.as_ptr() == body.as_ptr()
        };
        assert!(same(Protocol::Chat, &body));
        let without = Bytes::from_static(br#"{"choices":[{"message":{"tool_calls":[{}]}}]}"#);
        assert!(same(Protocol::Ollama, &without));
        let broken = Bytes::from_static(br#"{"choices":[{"message":{"tool_calls":[{"#);
        assert!(same(Protocol::Chat, &broken), "not valid JSON");
    }
}
