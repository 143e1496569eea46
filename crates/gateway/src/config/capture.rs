//! `[capture]`: the memory for captured requests and responses.

use super::reader::Section;

/// The capture of requests, for keys that opt in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaptureSettings {
    /// Maximum bytes of all captured requests and responses together.
    pub size: u64,
}

impl Default for CaptureSettings {
    fn default() -> Self {
        Self { size: 64 << 20 }
    }
}

pub(super) fn read_capture(mut section: Section<'_>) -> CaptureSettings {
    let mut capture = CaptureSettings::default();
    if let Some(size) = section.size("size") {
        capture.size = size;
    }
    section.finish();
    capture
}
