//! Lines out of bytes; on their own, the framing of newline-delimited JSON.

use memchr::memchr;

use super::{Bound, Handled};

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
#[derive(Default)]
pub(crate) struct Lines {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    bound: Bound,
}

impl Lines {
    #[cfg(test)]
    pub(crate) fn bounded(bound: Bound) -> Self {
        Self {
            partial: Vec::new(),
            bound,
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
                self.bound.check(line)?;
                each(Line::Whole(trim_end(line)))?;
            } else {
                self.partial.extend_from_slice(line);
                self.bound.check(&self.partial)?;
                let given = each(Line::Joined(trim_end(&self.partial)));
                self.partial.clear();
                given?;
            }
        }
        let before = self.partial.len();
        self.partial.extend_from_slice(chunk);
        self.bound.check_growing(before, &self.partial)
    }

    /// Gives the last line if its end never came.
    pub(crate) fn finish(&mut self, each: impl FnOnce(&[u8]) -> Handled) -> Handled {
        let last = std::mem::take(&mut self.partial);
        self.bound.check(&last)?;
        match trim_end(&last) {
            [] => Ok(()),
            line => each(line),
        }
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
