//! Length limits of one event.
//!
//! An upstream that never ends its line must not exhaust memory. No event carries
//! megabytes of text, but some carry an image as base64, so only images may exceed
//! the limit for text.

use super::{FrameResult, too_long};

/// Base64 runs of at least this length are treated as images, not text.
const MIN_IMAGE_RUN: usize = 4 * 1024;

/// Limits of one event, or of one of its lines.
#[derive(Clone, Copy)]
pub(crate) struct EventLimit {
    /// Limit for everything that is not an image.
    text: usize,
    /// Limit for the whole event.
    all: usize,
}

impl Default for EventLimit {
    /// Fits the longest final event, which repeats request and response, and an
    /// image of 20 MB.
    fn default() -> Self {
        Self::new(4 * 1024 * 1024, 32 * 1024 * 1024)
    }
}

impl EventLimit {
    pub(super) const fn new(text: usize, all: usize) -> Self {
        Self { text, all }
    }

    /// Checks a complete event.
    pub(crate) fn check(self, bytes: &[u8]) -> FrameResult {
        if bytes.len() <= self.text {
            return Ok(());
        }
        if bytes.len() > self.all {
            return Err(too_long(self.all));
        }
        if outside_images(bytes) > self.text {
            return Err(too_long(self.text));
        }
        Ok(())
    }

    /// Checks an event that has grown from `before` bytes. Its content is only
    /// inspected each time it has doubled.
    pub(crate) fn check_growing(self, before: usize, bytes: &[u8]) -> FrameResult {
        let next_check = before.max(self.text).next_power_of_two();
        if bytes.len() <= self.text
            || (before > self.text && bytes.len() <= next_check.min(self.all))
        {
            return Ok(());
        }
        self.check(bytes)
    }
}

/// Counts the bytes that are not part of a long base64 string.
fn outside_images(bytes: &[u8]) -> usize {
    let mut text = 0;
    // An image is a JSON string, or the end of one that holds a data URL.
    let mut opened = false;
    for run in bytes.split_inclusive(|byte| !is_base64(*byte)) {
        let is_image = opened && run.len() > MIN_IMAGE_RUN;
        text += if is_image { 1 } else { run.len() };
        opened = matches!(run.last(), Some(b'"' | b','));
    }
    text
}

/// Both alphabets, padding, and the backslash of an escaped slash.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\')
}
