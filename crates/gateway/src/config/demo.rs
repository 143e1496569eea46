//! Whether the built-in demo can be asked.

use super::providers::DEMO;
use super::{Config, Spec};

impl Config {
    /// Whether there is a demo: always, as long as the file names no provider; then
    /// only if it names the demo, as a provider or in a spec. What a key may ask for
    /// names nobody.
    pub(super) fn has_demo(&self) -> bool {
        let own = self.providers.iter().map(|provider| provider.name.as_str());
        let mut named = own.chain(self.specs().flat_map(Spec::providers)).peekable();
        named.peek().is_none() || named.any(|name| name == DEMO)
    }
}
