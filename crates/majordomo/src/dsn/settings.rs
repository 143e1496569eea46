//! Provider settings from a DSN's scheme and options.

use majordomo_providers::transport::{Timeouts, Transport};
use majordomo_providers::{ProviderKind, Settings};

use super::Dsn;

/// Additional schemes of built-in kinds.
const SCHEME_ALIASES: &[(&str, ProviderKind)] = &[
    ("gemini", ProviderKind::Google),
    ("llama-swaps", ProviderKind::LlamaSwap),
];

impl Dsn {
    /// The schemes of the built-in kinds.
    pub(crate) fn schemes() -> impl Iterator<Item = (&'static str, ProviderKind)> {
        let kinds = ProviderKind::ALL
            .into_iter()
            .map(|kind| (kind.as_str(), kind));
        kinds.chain(SCHEME_ALIASES.iter().copied())
    }

    /// The built-in kind of the scheme, if any.
    ///
    /// ```
    /// use majordomo::dsn::Dsn;
    /// use majordomo::providers::ProviderKind;
    ///
    /// let dsn: Dsn = "gemini://key@host".parse().unwrap();
    /// assert_eq!(dsn.kind(), Some(ProviderKind::Google));
    /// ```
    pub fn kind(&self) -> Option<ProviderKind> {
        let mut schemes = Self::schemes();
        let found = schemes.find(|(scheme, _)| *scheme == self.scheme);
        found.map(|(_, kind)| kind)
    }

    /// The settings of a provider of this name, with the DSN's address, token and options.
    pub fn settings(&self, name: &str, transport: &Transport) -> Settings {
        let timeouts = self.options.timeout.map(Timeouts::within);
        let mut settings = Settings::new(name, transport.clone()).base_url(self.base_url());
        settings.key = self.token.clone();
        settings.timeouts = timeouts;
        settings.limits = self.options.limits();
        settings.legacy_max_tokens = self.options.legacy_max_tokens;
        settings.anthropic_version = self.options.anthropic_version.unwrap_or_default();
        settings.num_ctx = self.options.num_ctx;
        settings
    }
}
