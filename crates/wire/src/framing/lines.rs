//! Splits bytes into lines; on its own, the framing of NDJSON.

use memchr::memchr;

use super::{EventLimit, FrameResult};

/// One line without its terminator.
pub(crate) enum SplitLine<'c, 'l> {
    /// Lies within the pushed chunk.
    Whole(&'c [u8]),
    /// Spans several chunks.
    Joined(&'l [u8]),
}

impl SplitLine<'_, '_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Joined(bytes) => bytes,
        }
    }
}

/// Splits bytes into lines that end in LF or CRLF.
#[derive(Default)]
pub(crate) struct LineSplitter {
    /// The start of an incomplete line.
    partial: Vec<u8>,
    limit: EventLimit,
}

impl LineSplitter {
    #[cfg(test)]
    pub(crate) fn with_limit(limit: EventLimit) -> Self {
        Self {
            partial: Vec::new(),
            limit,
        }
    }

    /// Passes every line that the chunk completes to `each`.
    pub(crate) fn push<'c>(
        &mut self,
        mut chunk: &'c [u8],
        mut each: impl FnMut(SplitLine<'c, '_>) -> FrameResult,
    ) -> FrameResult {
        while let Some(end) = memchr(b'\n', chunk) {
            let line = &chunk[..end];
            chunk = &chunk[end + 1..];
            if self.partial.is_empty() {
                self.limit.check(line)?;
                each(SplitLine::Whole(trim_end(line)))?;
            } else {
                self.partial.extend_from_slice(line);
                self.limit.check(&self.partial)?;
                let given = each(SplitLine::Joined(trim_end(&self.partial)));
                self.partial.clear();
                given?;
            }
        }
        let before = self.partial.len();
        self.partial.extend_from_slice(chunk);
        self.limit.check_growing(before, &self.partial)
    }

    /// Passes an unterminated last line to `each`.
    pub(crate) fn finish(&mut self, each: impl FnOnce(&[u8]) -> FrameResult) -> FrameResult {
        let last = std::mem::take(&mut self.partial);
        self.limit.check(&last)?;
        match trim_end(&last) {
            [] => Ok(()),
            line => each(line),
        }
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
