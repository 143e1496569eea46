//! Descriptions that several processes share.

use std::time::Duration;

use majordomo::BoxFuture;

/// A cache beyond this process. Descriptions are found by a digest of the image, the prompt,
/// the describers and the client's key, so no client reads another client's descriptions.
pub trait SharedDescriptions: Send + Sync {
    /// A description, or `None`; must return soon, because the image waits for it before it is
    /// described.
    fn find<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Stores a description. Must not block.
    fn keep(&self, digest: &str, description: &str, lasts: Duration);
}
