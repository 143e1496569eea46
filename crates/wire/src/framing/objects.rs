//! JSON objects out of bare lines: a list of answers that comes piece by piece,
//! or an error that is printed over several lines.

use super::{DEFAULT_LIMIT, Handled, too_long};

/// Joins lines until the braces are balanced. What is between objects (the
/// brackets and commas of a list, or anything else) is passed over.
#[derive(Default)]
pub(crate) struct Objects {
    object: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Objects {
    /// Gives every object that the line completes.
    pub(crate) fn push(&mut self, line: &[u8], mut each: impl FnMut(&[u8]) -> Handled) -> Handled {
        for byte in line {
            if self.depth == 0 && *byte != b'{' {
                continue;
            }
            if self.object.len() >= DEFAULT_LIMIT {
                return Err(too_long(DEFAULT_LIMIT));
            }
            self.object.push(*byte);
            self.count(*byte);
            if self.depth == 0 {
                let given = each(&self.object);
                self.object.clear();
                given?;
            }
        }
        if self.depth > 0 {
            self.object.push(b'\n');
        }
        Ok(())
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
