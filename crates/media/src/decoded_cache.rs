//! DecodeFn pictures kept for the next target of the same request.
//!
//! There are few of them and they are large, so a list in the order of use is
//! all that is needed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use majordomo_codecs::Picture;

/// A content address.
pub(crate) type ContentHash = [u8; 32];

pub(crate) struct DecodedCache {
    bound: u64,
    pictures: Mutex<VecDeque<(ContentHash, Arc<Picture>)>>,
}

impl DecodedCache {
    pub(crate) fn new(bound: u64) -> Self {
        Self {
            bound,
            pictures: Mutex::default(),
        }
    }

    /// The open picture of these bytes, if one of at least this size is kept.
    pub(crate) fn get(&self, address: &ContentHash, wanted: (u32, u32)) -> Option<Arc<Picture>> {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        let at = pictures.iter().position(|(kept, picture)| {
            kept == address && picture.width >= wanted.0 && picture.height >= wanted.1
        })?;
        let found = pictures.remove(at)?;
        let picture = Arc::clone(&found.1);
        pictures.push_back(found);
        Some(picture)
    }

    /// Keeps a picture, in place of a smaller one of the same bytes.
    pub(crate) fn put(&self, address: ContentHash, picture: Arc<Picture>) {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        pictures.retain(|(kept, _)| *kept != address);
        pictures.push_back((address, picture));
        let size = |(_, picture): &(ContentHash, Arc<Picture>)| picture.data.len() as u64;
        while pictures.iter().map(size).sum::<u64>() > self.bound {
            pictures.pop_front();
        }
    }
}
