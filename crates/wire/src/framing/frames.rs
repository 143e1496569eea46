//! Splits a stream that is forwarded as bytes at its frame boundaries.

use bytes::{Bytes, BytesMut};
use majordomo_llm::Result;
use memchr::memchr_iter;

use super::EventLimit;

/// Takes bytes in any chunking and yields whole frames, so that a forwarded
/// stream never stops in the middle of one.
///
/// ```
/// use bytes::Bytes;
/// use majordomo_wire::Protocol;
///
/// let mut frames = Protocol::Chat.frames();
/// frames.push(Bytes::from_static(b"data: 1\n\ndata: 2"))?;
/// assert_eq!(frames.next().unwrap(), "data: 1\n\n");
/// assert!(frames.next().is_none());
/// frames.push(Bytes::from_static(b"\n\n"))?;
/// assert_eq!(frames.next().unwrap(), "data: 2\n\n");
/// # Ok::<(), majordomo_llm::Error>(())
/// ```
#[derive(Debug)]
pub struct Frames {
    lines: bool,
    waiting: Bytes,
    /// Length of the prefix of `waiting` that contains no frame end.
    seen: usize,
}

impl Frames {
    /// Frames end at a blank line, or at every line if `lines` is set.
    pub(crate) fn new(lines: bool) -> Self {
        Self {
            lines,
            waiting: Bytes::new(),
            seen: 0,
        }
    }

    /// Appends bytes. Bytes that begin a frame are not copied.
    pub fn push(&mut self, bytes: Bytes) -> Result<()> {
        if self.waiting.is_empty() {
            self.waiting = bytes;
            return Ok(());
        }
        let before = self.waiting.len();
        let mut joined = BytesMut::from(std::mem::take(&mut self.waiting));
        joined.extend_from_slice(&bytes);
        self.waiting = joined.freeze();
        // Complete frames were already taken, so this is a single frame except
        // for its last bytes.
        EventLimit::default().check_growing(before, &self.waiting)
    }

    /// The buffered bytes.
    pub fn waiting(&self) -> &Bytes {
        &self.waiting
    }

    /// Takes the incomplete frame that remains at the end of the stream.
    pub fn rest(&mut self) -> Bytes {
        self.seen = 0;
        std::mem::take(&mut self.waiting)
    }

    /// The length of the first complete frame.
    fn end(&self) -> Option<usize> {
        let bytes = &self.waiting[..];
        // An earlier line end may be the first of the two that end a frame.
        let from = self.seen.saturating_sub(3);
        memchr_iter(b'\n', &bytes[from..]).find_map(|at| {
            let after = from + at + 1;
            match &bytes[after..] {
                _ if self.lines => Some(after),
                [b'\n', ..] => Some(after + 1),
                [b'\r', b'\n', ..] => Some(after + 2),
                _ => None,
            }
        })
    }
}

impl Iterator for Frames {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        match self.end() {
            Some(end) => {
                self.seen = 0;
                Some(self.waiting.split_to(end))
            }
            None => {
                self.seen = self.waiting.len();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(lines: bool, chunks: &[&[u8]]) -> (Vec<Bytes>, Bytes) {
        let mut frames = Frames::new(lines);
        let mut found = Vec::new();
        for chunk in chunks {
            frames.push(Bytes::copy_from_slice(chunk)).unwrap();
            found.extend(&mut frames);
        }
        (found, frames.rest())
    }

    #[test]
    fn sse_frames_end_at_a_blank_line_and_ndjson_frames_at_every_line() {
        let stream: &[u8] = b"event: a\ndata: 1\n\ndata: 2\r\n\r\n: comment\n\nda";
        let (frames, rest) = cut(false, &[stream]);
        let expected: [&[u8]; 3] = [
            b"event: a\ndata: 1\n\n",
            b"data: 2\r\n\r\n",
            b": comment\n\n",
        ];
        assert_eq!(frames, expected);
        assert_eq!(rest, "da");
        let (frames, rest) = cut(true, &[b"{}\n{}\r\n{"]);
        assert_eq!(frames, [&b"{}\n"[..], b"{}\r\n"]);
        assert_eq!(rest, "{");
    }

    #[test]
    fn an_unterminated_frame_is_limited_by_its_content() {
        let grown = |begin: &[u8], more: &[u8]| {
            let mut frames = Frames::new(false);
            frames.push(Bytes::copy_from_slice(begin)).unwrap();
            let mut taken = begin.len();
            while frames.push(Bytes::copy_from_slice(more)).is_ok() {
                assert!(frames.next().is_none());
                taken += more.len();
            }
            taken
        };
        let text = grown(b"data: \"", &[b' '; 64 << 10]);
        assert!((3 << 20..=4 << 20).contains(&text), "{text}");
        let image = grown(b"data: \"", &[b'A'; 64 << 10]);
        assert!((30 << 20..=32 << 20).contains(&image), "{image}");
    }

    #[test]
    fn a_frame_within_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"data: 1\n\n");
        let mut frames = Frames::new(false);
        frames.push(chunk.clone()).unwrap();
        assert_eq!(frames.next().unwrap().as_ptr(), chunk.as_ptr());
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_chunking(
            text in "[a\r\n]{0,40}",
            cuts in prop::collection::vec(0usize..40, 0..6),
            lines: bool,
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for at in cuts.into_iter().chain([bytes.len()]) {
                chunks.push(&bytes[from..at]);
                from = at;
            }
            prop_assert_eq!(cut(lines, &chunks), cut(lines, &[bytes]));
        }
    }
}
