//! JSON objects out of bare lines: a list of answers that comes piece by piece,
//! or an error that is printed over several lines.

use super::{Bound, Handled};

/// Joins lines until the braces are balanced. What is between objects (the
/// brackets and commas of a list, or anything else) is passed over.
#[derive(Default)]
pub(crate) struct Objects {
    object: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
    bound: Bound,
}

impl Objects {
    /// Gives every object that the line completes.
    pub(crate) fn push(&mut self, line: &[u8], mut each: impl FnMut(&[u8]) -> Handled) -> Handled {
        let before = self.object.len();
        for byte in line {
            if self.depth == 0 && *byte != b'{' {
                continue;
            }
            self.object.push(*byte);
            self.count(*byte);
            if self.depth == 0 {
                self.bound.check(&self.object)?;
                let given = each(&self.object);
                self.object.clear();
                given?;
            }
        }
        if self.depth > 0 {
            self.object.push(b'\n');
        }
        self.bound.check_growing(before, &self.object)
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
