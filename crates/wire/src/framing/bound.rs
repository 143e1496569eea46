//! How long one event may be: what a model writes is short, a picture is not.
//!
//! An upstream that never ends its line must not fill our memory. No event
//! carries megabytes of text, but some carry a picture as base64, so only
//! pictures may go beyond the bound for text.

use super::{Handled, too_long};

/// Runs of base64 letters from this length on are no text.
const SHORTEST_PICTURE: usize = 4 * 1024;

/// The bounds of one event, or of one line of it.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    /// For all that is no picture.
    text: usize,
    /// For everything together.
    all: usize,
}

impl Default for Bound {
    /// Room for the longest last event, which repeats the answer and the
    /// question, and for a picture of 20 MB.
    fn default() -> Self {
        Self::new(4 * 1024 * 1024, 32 * 1024 * 1024)
    }
}

impl Bound {
    pub(super) const fn new(text: usize, all: usize) -> Self {
        Self { text, all }
    }

    /// Checks bytes that are complete.
    pub(crate) fn check(self, bytes: &[u8]) -> Handled {
        if bytes.len() <= self.text {
            return Ok(());
        }
        if bytes.len() > self.all {
            return Err(too_long(self.all));
        }
        if outside_pictures(bytes) > self.text {
            return Err(too_long(self.text));
        }
        Ok(())
    }

    /// Checks bytes that are still coming, of which there were `before` bytes.
    /// They are looked into only when they have doubled.
    pub(crate) fn check_growing(self, before: usize, bytes: &[u8]) -> Handled {
        let looked = before.max(self.text).next_power_of_two();
        if bytes.len() <= self.text || (before > self.text && bytes.len() <= looked.min(self.all)) {
            return Ok(());
        }
        self.check(bytes)
    }
}

/// How many bytes are no part of a long base64 string.
fn outside_pictures(bytes: &[u8]) -> usize {
    let mut text = 0;
    // A picture is a JSON string, or the end of one that holds a data URL.
    let mut opened = false;
    for run in bytes.split_inclusive(|byte| !is_base64(*byte)) {
        let is_picture = opened && run.len() > SHORTEST_PICTURE;
        text += if is_picture { 1 } else { run.len() };
        opened = matches!(run.last(), Some(b'"' | b','));
    }
    text
}

/// Both alphabets, their padding, and the backslash of an escaped slash.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\')
}
