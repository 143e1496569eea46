//! Lines out of bytes; on their own, the framing of newline-delimited JSON.

use memchr::memchr;

use super::{DEFAULT_LIMIT, Handled, too_long};

/// One line without its end.
pub(crate) enum Line<'c, 'l> {
    /// It lies whole in the chunk that was pushed.
    Whole(&'c [u8]),
    /// It came in pieces.
    Joined(&'l [u8]),
}

impl Line<'_, '_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Joined(bytes) => bytes,
        }
    }
}

/// Splits bytes into lines that end in LF or CRLF.
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    limit: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl Lines {
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            partial: Vec::new(),
            limit,
        }
    }

    /// Gives every line that the chunk completes.
    pub(crate) fn push<'c>(
        &mut self,
        mut chunk: &'c [u8],
        mut each: impl FnMut(Line<'c, '_>) -> Handled,
    ) -> Handled {
        while let Some(end) = memchr(b'\n', chunk) {
            let line = &chunk[..end];
            chunk = &chunk[end + 1..];
            if self.partial.is_empty() {
                self.check(line.len())?;
                each(Line::Whole(trim_end(line)))?;
            } else {
                self.check(self.partial.len() + line.len())?;
                self.partial.extend_from_slice(line);
                let given = each(Line::Joined(trim_end(&self.partial)));
                self.partial.clear();
                given?;
            }
        }
        self.check(self.partial.len() + chunk.len())?;
        self.partial.extend_from_slice(chunk);
        Ok(())
    }

    /// Gives the last line if its end never came.
    pub(crate) fn finish(&mut self, each: impl FnOnce(&[u8]) -> Handled) -> Handled {
        let last = std::mem::take(&mut self.partial);
        match trim_end(&last) {
            [] => Ok(()),
            line => each(line),
        }
    }

    fn check(&self, length: usize) -> Handled {
        if length > self.limit {
            return Err(too_long(self.limit));
        }
        Ok(())
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
