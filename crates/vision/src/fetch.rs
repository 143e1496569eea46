//! The hook that gets an image's bytes where an address is not enough.

use majordomo::{BoxFuture, Image, Result};

/// Fetches remote images, safely. The vision proxy has none unless it is given
/// one: nothing is fetched behind the operator's back.
pub trait FetchImage: Send + Sync {
    /// The image at this address. Dropping the future stops the work.
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Image>>;
}
