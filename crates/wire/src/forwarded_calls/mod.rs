//! Adds the call ids that a server left out to a response that is forwarded as
//! bytes.
//!
//! Chat Completions, Messages and Responses require an id of every call, and some servers send
//! none. All other bytes are unchanged. In Gemini and Ollama the id is optional: their clients
//! match results by name and position, and several Gemini endpoints reject a request that
//! returns one, so their responses are not changed.

mod call_object;
mod chat;
mod messages;
mod responses;

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use majordomo_llm::ToolCall;
use memchr::memmem;

use self::call_object::CallObject;
use crate::Protocol;
use crate::json::{self, Cursor, ReadResult};

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

/// Reads a response or an event and collects the edits that add missing ids.
type MissingIds = fn(&mut ForwardedCalls, &mut Cursor<'_>, &mut Edits) -> ReadResult<()>;

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
        let Some(reader) = self.reader(&body) else {
            return body;
        };
        match std::str::from_utf8(&body) {
            Ok(text) => apply(&body, &self.missing_ids(reader, text, 0)),
            Err(_) => body,
        }
    }

    /// Completes whole frames of a stream.
    pub fn complete_frames(&mut self, frames: Bytes) -> Bytes {
        if self.reader(&frames).is_none() {
            return frames;
        }
        let mut edits = Vec::new();
        let mut start = 0;
        for line in frames.split_inclusive(|byte| *byte == b'\n') {
            let data = line.strip_prefix(b"data:");
            if let Some(Ok(text)) = data.map(std::str::from_utf8)
                && let Some(reader) = self.reader(line)
            {
                edits.extend(self.missing_ids(reader, text, start + 5));
            }
            start += line.len();
        }
        apply(&frames, &edits)
    }

    /// The reader for these bytes; none if they cannot contain a call that needs an id.
    fn reader(&self, bytes: &[u8]) -> Option<MissingIds> {
        let contains = |word: &str| memmem::find(bytes, word.as_bytes()).is_some();
        match self.protocol {
            Protocol::Chat if contains("\"tool_calls\"") => Some(chat::read),
            Protocol::Messages if contains("\"tool_use\"") => Some(messages::read),
            Protocol::Responses
                if contains("\"function_call\"") || contains("\"custom_tool_call\"") =>
            {
                Some(responses::read)
            }
            Protocol::Chat
            | Protocol::Messages
            | Protocol::Responses
            | Protocol::Gemini
            | Protocol::Ollama => None,
        }
    }

    /// The edits that add missing ids to a response or chunk, which begins at
    /// `base`. None if it cannot be read: the client will notice.
    fn missing_ids(&mut self, reader: MissingIds, text: &str, base: usize) -> Vec<Edit> {
        let mut edits = Edits {
            base,
            list: Vec::new(),
        };
        match json::read_str(text, |cursor| reader(self, cursor, &mut edits)) {
            Ok(()) => {
                // An event may hold an item and a response, in either order.
                edits.list.sort_by_key(|edit| edit.range.start);
                edits.list
            }
            Err(_) => Vec::new(),
        }
    }

    /// The id of a call that begins.
    fn begin(&mut self, index: Option<u64>) -> String {
        self.seen.push(index);
        ToolCall::synthetic_id(self.first_call + self.seen.len() - 1)
    }

    /// The id of the call with this index, which may have begun before.
    fn at(&mut self, index: Option<u64>) -> String {
        let known = index.and_then(|_| self.seen.iter().position(|seen| *seen == index));
        match known {
            Some(number) => ToolCall::synthetic_id(self.first_call + number),
            None => self.begin(index),
        }
    }
}

/// Edits of one response or event.
#[derive(Debug)]
struct Edits {
    /// The offset of the response or event in the edited bytes.
    base: usize,
    list: Vec<Edit>,
}

impl Edits {
    /// Gives a call its id, unless it has one.
    fn complete(&mut self, call: CallObject, field: &str, id: &str) {
        let edit = call.completed(field, id);
        self.list.extend(edit.map(|mut edit| {
            edit.range = self.base + edit.range.start..self.base + edit.range.end;
            edit
        }));
    }
}

/// Replaces a range of bytes.
#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    text: String,
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
mod tests;
