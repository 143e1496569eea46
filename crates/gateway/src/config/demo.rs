//! Availability of the built-in demo provider.

use super::providers::DEMO;
use super::{Config, SpecEntry};

impl Config {
    /// Whether the demo provider is registered: if the file names no provider at all, or
    /// if it names the demo as a provider or in a spec. The models allowed to a key do
    /// not count.
    pub(super) fn has_demo(&self) -> bool {
        let own = self.providers.iter().map(|provider| provider.name.as_str());
        let mut named = own
            .chain(self.specs().flat_map(SpecEntry::providers))
            .peekable();
        named.peek().is_none() || named.any(|name| name == DEMO)
    }
}
