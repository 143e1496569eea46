//! Names the provider in errors, without its secrets.

use majordomo_llm::Error;
use secrecy::ExposeSecret;

use super::HttpProvider;

/// Shorter words of configured headers are not redacted: they may be ordinary text.
const SHORTEST_SECRET: usize = 8;

impl HttpProvider {
    /// Names the provider in an error and redacts its key.
    pub(super) fn attribute(&self, error: Error) -> Error {
        let error = error.with_provider(&self.0.name);
        // Longer keys first: one may begin with another.
        let mut keys: Vec<&str> = self
            .0
            .settings
            .keys
            .iter()
            .map(|it| it.expose_secret())
            .collect();
        keys.extend(self.0.key.as_ref().map(|key| key.expose_secret()));
        keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.len()));
        let error = keys.into_iter().fold(error, Error::redacting);
        let values = self.0.settings.headers.values();
        let texts = values.filter_map(|value| value.to_str().ok());
        // A server may quote `Bearer x` or only `x`.
        let secrets = texts.flat_map(|text| [text].into_iter().chain(text.split_whitespace()));
        secrets
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .fold(error, |error, secret| error.redacting(secret))
    }
}
