//! `[fetch]`: fetching of remote images.

use std::time::Duration;

use super::reader::Section;

/// Fetching of remote images for targets that need their bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchSettings {
    /// Whether remote images are fetched at all.
    pub enabled: bool,
    /// Maximum size of one image in bytes.
    pub max_bytes: u64,
    /// Timeout for one image, including redirects.
    pub timeout: Duration,
    /// Maximum number of redirects.
    pub max_redirects: u32,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            max_bytes: 20 << 20,
            timeout: Duration::from_secs(10),
            max_redirects: 3,
        }
    }
}

impl FetchSettings {
    /// Sets [`enabled`](Self::enabled).
    #[must_use]
    pub fn with_enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Sets [`max_bytes`](Self::max_bytes).
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets [`max_redirects`](Self::max_redirects).
    #[must_use]
    pub fn with_max_redirects(mut self, max_redirects: u32) -> Self {
        self.max_redirects = max_redirects;
        self
    }
}

pub(super) fn read_fetch(mut section: Section<'_>) -> FetchSettings {
    let mut fetch = FetchSettings::default();
    if let Some(enabled) = section.flag("enabled") {
        fetch.enabled = enabled;
    }
    if let Some(size) = section.size("max_bytes") {
        fetch.max_bytes = size;
    }
    if let Some(timeout) = section.take("timeout").and_then(|f| f.positive_duration()) {
        fetch.timeout = timeout;
    }
    if let Some(most) = section.number("max_redirects", 0, 10) {
        fetch.max_redirects = u32::try_from(most).unwrap_or(u32::MAX);
    }
    section.finish();
    fetch
}
