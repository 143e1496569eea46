//! Gemini's stream format without `alt=sse`: one JSON array, element by element.

use bytes::{BufMut, Bytes, BytesMut};

/// Converts whole server-sent events into elements of an array.
#[derive(Default)]
pub(crate) struct GeminiArray {
    begun: bool,
}

impl GeminiArray {
    /// The next part of the array, with the closing bracket if `last`.
    pub(crate) fn convert(&mut self, events: &[u8], last: bool) -> Bytes {
        let mut out = BytesMut::with_capacity(events.len() + 4);
        for line in events.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            out.extend_from_slice(if self.begun { b",\r\n" } else { b"[" });
            out.extend_from_slice(data.trim_ascii());
            self.begun = true;
        }
        if last {
            if !self.begun {
                out.put_u8(b'[');
            }
            out.put_u8(b']');
        }
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_elements() {
        let mut array = GeminiArray::default();
        let mut text = array
            .convert(b"data: {\"a\":1}\r\n\r\ndata: {}\r\n\r\n", false)
            .to_vec();
        text.extend(array.convert(b"data: {\"b\":2}\n\n", true));
        assert_eq!(text, b"[{\"a\":1},\r\n{},\r\n{\"b\":2}]");
        assert_eq!(GeminiArray::default().convert(b"", true), "[]");
    }
}
