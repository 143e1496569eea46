//! A decoded picture, shared or owned.

use std::ops::Deref;

use majordomo_codecs::Picture;

/// A decoded picture: shared with the cache, or owned by the job and released as soon as a
/// smaller one replaces it.
pub(crate) enum Decoded<'a> {
    Shared(&'a Picture),
    Own(Picture),
}

impl Deref for Decoded<'_> {
    type Target = Picture;

    fn deref(&self) -> &Picture {
        match self {
            Self::Shared(picture) => picture,
            Self::Own(picture) => picture,
        }
    }
}
