//! Server-sent events, as providers really send them.
//!
//! Tolerated: LF and CRLF, comments, `data:` with and without a space, data
//! over several lines, event names or none, a missing last blank line, a byte
//! order mark.

use super::lines::{Line, Lines};
use super::{Bound, Handled};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// What the decoder gives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'f> {
    /// One event.
    Event {
        /// Its name; empty where the sender gave none.
        name: &'f str,
        /// Its data lines, joined by newlines.
        data: &'f [u8],
    },
    /// A line that is no field of an event: a server that answers a stream with
    /// bare JSON. Whoever expects that joins the lines.
    Bare(&'f [u8]),
}

/// Decodes one stream of events.
#[derive(Default)]
pub(crate) struct SseDecoder {
    lines: Lines,
    event: Event,
}

/// The event whose blank line has not come.
#[derive(Default)]
struct Event {
    name: String,
    /// Data that could not be left in its chunk.
    data: Vec<u8>,
    has_data: bool,
    bound: Bound,
}

impl SseDecoder {
    /// Refuses events that are longer than this.
    #[cfg(test)]
    pub(crate) fn bounded(bound: Bound) -> Self {
        Self {
            lines: Lines::bounded(bound),
            event: Event {
                bound,
                ..Event::default()
            },
        }
    }

    /// Gives every frame that the chunk completes.
    pub(crate) fn push(
        &mut self,
        chunk: &[u8],
        mut each: impl FnMut(Frame<'_>) -> Handled,
    ) -> Handled {
        let event = &mut self.event;
        // Data that is still in the chunk; nothing is copied if its event ends here, too.
        let mut in_chunk: Option<&[u8]> = None;
        self.lines.push(chunk, |line| {
            match Field::of(line.bytes()) {
                Field::Blank => event.dispatch(in_chunk.take(), &mut each)?,
                Field::Data(data) => match (&line, event.has_data) {
                    (Line::Whole(whole), false) if in_chunk.is_none() => {
                        in_chunk = Some(&whole[whole.len() - data.len()..]);
                    }
                    _ => {
                        event.hold(in_chunk.take())?;
                        event.hold(Some(data))?;
                    }
                },
                Field::Name(name) => event.name = String::from_utf8_lossy(name).into_owned(),
                Field::Bare(line) => each(Frame::Bare(line))?,
                Field::Ignored => {}
            }
            Ok(())
        })?;
        event.hold(in_chunk)
    }

    /// Gives what the end of the stream completes: an event without its blank line.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Frame<'_>) -> Handled) -> Handled {
        let event = &mut self.event;
        self.lines.finish(|line| match Field::of(line) {
            Field::Data(data) => event.hold(Some(data)),
            Field::Bare(line) => each(Frame::Bare(line)),
            Field::Blank | Field::Name(_) | Field::Ignored => Ok(()),
        })?;
        event.dispatch(None, &mut each)
    }
}

impl Event {
    fn hold(&mut self, data: Option<&[u8]>) -> Handled {
        let Some(data) = data else { return Ok(()) };
        let before = self.data.len();
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
        self.has_data = true;
        self.bound.check_growing(before, &self.data)
    }

    fn dispatch(
        &mut self,
        in_chunk: Option<&[u8]>,
        each: &mut impl FnMut(Frame<'_>) -> Handled,
    ) -> Handled {
        let given = match in_chunk {
            Some(data) => each(Frame::Event {
                name: &self.name,
                data,
            }),
            None if self.has_data => self.bound.check(&self.data).and_then(|()| {
                each(Frame::Event {
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

/// What a line says.
enum Field<'l> {
    Blank,
    Data(&'l [u8]),
    Name(&'l [u8]),
    Bare(&'l [u8]),
    Ignored,
}

impl<'l> Field<'l> {
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
