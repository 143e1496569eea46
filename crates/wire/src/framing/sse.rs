//! Server-sent events (WHATWG HTML §9.2.6), as providers send them.
//!
//! Accepts LF and CRLF, comments, `data:` with and without a space, multi-line
//! data, missing event names, a missing final blank line, and a byte order mark.

use super::lines::{LineSplitter, SplitLine};
use super::{EventLimit, FrameResult};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A decoded frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseFrame<'f> {
    /// An event.
    Event {
        /// The event name; may be empty.
        name: &'f str,
        /// The data lines, joined by newlines.
        data: &'f [u8],
    },
    /// A line that is not an SSE field, from a server that responds to a stream
    /// request with bare JSON. Readers that expect this join the lines.
    Bare(&'f [u8]),
}

/// Decodes one event stream.
#[derive(Default)]
pub(crate) struct SseDecoder {
    lines: LineSplitter,
    event: PendingEvent,
}

/// The event whose blank line has not arrived yet.
#[derive(Default)]
struct PendingEvent {
    name: String,
    /// Data that could not be borrowed from its chunk.
    data: Vec<u8>,
    has_data: bool,
    limit: EventLimit,
}

impl SseDecoder {
    /// Rejects events that exceed the limit.
    #[cfg(test)]
    pub(crate) fn with_limit(limit: EventLimit) -> Self {
        Self {
            lines: LineSplitter::with_limit(limit),
            event: PendingEvent {
                limit,
                ..PendingEvent::default()
            },
        }
    }

    /// Passes every frame that the chunk completes to `each`.
    pub(crate) fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(SseFrame<'_>) -> FrameResult,
    ) -> FrameResult {
        let event = &mut self.event;
        // Data borrowed from the chunk; not copied if its event also ends
        // there.
        let mut in_chunk: Option<&[u8]> = None;
        self.lines.push(chunk, |line| {
            match SseField::of(line.bytes()) {
                SseField::Blank => event.dispatch(in_chunk.take(), &mut each)?,
                SseField::Data(data) => match (&line, event.has_data) {
                    (SplitLine::Whole(whole), false) if in_chunk.is_none() => {
                        in_chunk = Some(&whole[whole.len() - data.len()..]);
                    }
                    _ => {
                        event.hold(in_chunk.take())?;
                        event.hold(Some(data))?;
                    }
                },
                SseField::Name(name) => event.name = String::from_utf8_lossy(name).into_owned(),
                SseField::Bare(line) => each(SseFrame::Bare(line))?,
                SseField::Ignored => {}
            }
            Ok(())
        })?;
        event.hold(in_chunk)
    }

    /// Passes the last event to `each` if its blank line is missing.
    pub(crate) fn finish(
        &mut self,
        mut each: impl FnMut(SseFrame<'_>) -> FrameResult,
    ) -> FrameResult {
        let event = &mut self.event;
        self.lines.finish(|line| match SseField::of(line) {
            SseField::Data(data) => event.hold(Some(data)),
            SseField::Bare(line) => each(SseFrame::Bare(line)),
            SseField::Blank | SseField::Name(_) | SseField::Ignored => Ok(()),
        })?;
        event.dispatch(None, &mut each)
    }
}

impl PendingEvent {
    fn hold(&mut self, data: Option<&[u8]>) -> FrameResult {
        let Some(data) = data else { return Ok(()) };
        let before = self.data.len();
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
        self.has_data = true;
        self.limit.check_growing(before, &self.data)
    }

    fn dispatch(
        &mut self,
        in_chunk: Option<&[u8]>,
        each: &mut impl FnMut(SseFrame<'_>) -> FrameResult,
    ) -> FrameResult {
        let given = match in_chunk {
            Some(data) => each(SseFrame::Event {
                name: &self.name,
                data,
            }),
            None if self.has_data => self.limit.check(&self.data).and_then(|()| {
                each(SseFrame::Event {
                    name: &self.name,
                    data: &self.data,
                })
            }),
            None => Ok(()),
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        given
    }
}

/// One line of an event stream.
enum SseField<'l> {
    Blank,
    Data(&'l [u8]),
    Name(&'l [u8]),
    Bare(&'l [u8]),
    Ignored,
}

impl<'l> SseField<'l> {
    fn of(line: &'l [u8]) -> Self {
        let value = |rest: &'l [u8]| rest.strip_prefix(b" ").unwrap_or(rest);
        if let Some(rest) = line.strip_prefix(b"data:") {
            return Self::Data(value(rest));
        }
        if let Some(rest) = line.strip_prefix(b"event:") {
            return Self::Name(value(rest));
        }
        match line.first() {
            None => Self::Blank,
            Some(b':') => Self::Ignored,
            _ if line.starts_with(b"id:") || line.starts_with(b"retry:") => Self::Ignored,
            _ => match line.strip_prefix(BYTE_ORDER_MARK) {
                Some(line) => Self::of(line),
                None => Self::Bare(line),
            },
        }
    }
}
