//! `[page]`: the web page.

use super::reader::Section;

/// The web page of the operator's listener.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PageSettings {
    /// Whether it is served.
    pub enabled: bool,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

pub(super) fn read_page(mut section: Section<'_>) -> PageSettings {
    let mut page = PageSettings::default();
    if let Some(enabled) = section.flag("enabled") {
        page.enabled = enabled;
    }
    section.finish();
    page
}
