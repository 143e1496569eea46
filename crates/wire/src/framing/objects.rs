//! Extracts JSON objects from bare lines: a streamed list of responses, or a
//! pretty-printed error.

use super::{EventLimit, FrameResult};

/// Joins lines until the braces are balanced. Skips everything between objects,
/// such as the brackets and commas of a list.
#[derive(Default)]
pub(crate) struct ObjectSplitter {
    object: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    limit: EventLimit,
}

impl ObjectSplitter {
    /// Passes every object that the line completes to `each`.
    pub(crate) fn push(
        &mut self,
        line: &[u8],
        mut each: impl FnMut(&[u8]) -> FrameResult,
    ) -> FrameResult {
        let before = self.object.len();
        for byte in line {
            if self.depth == 0 && *byte != b'{' {
                continue;
            }
            self.object.push(*byte);
            self.count(*byte);
            if self.depth == 0 {
                self.limit.check(&self.object)?;
                let given = each(&self.object);
                self.object.clear();
                given?;
            }
        }
        if self.depth > 0 {
            self.object.push(b'\n');
        }
        self.limit.check_growing(before, &self.object)
    }

    fn count(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' if !self.in_string => self.depth += 1,
            b'}' if !self.in_string => self.depth -= 1,
            _ => {}
        }
    }
}
