//! The hook that fetches remote images for describers that do not accept URLs.

use majordomo::{BoxFuture, Image, Result};

/// Fetches remote images, safely. The engine has none by default: nothing is fetched
/// unless the operator enables it.
pub trait FetchImage: Send + Sync {
    /// Fetches the image at this URL. Dropping the future cancels the fetch.
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Image>>;
}
