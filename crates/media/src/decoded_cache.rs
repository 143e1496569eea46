//! An LRU cache of decoded pictures, for the next target of the same request.
//!
//! Its entries are few and large, so a list suffices.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use majordomo_codecs::Picture;

/// The BLAKE3 hash of the encoded bytes.
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

    /// The picture with this hash, if it is at least this large.
    pub(crate) fn get(&self, hash: &ContentHash, wanted: (u32, u32)) -> Option<Arc<Picture>> {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        let at = pictures.iter().position(|(kept, picture)| {
            kept == hash && picture.width >= wanted.0 && picture.height >= wanted.1
        })?;
        let found = pictures.remove(at)?;
        let picture = Arc::clone(&found.1);
        pictures.push_back(found);
        Some(picture)
    }

    /// Inserts a picture; replaces one with the same hash.
    pub(crate) fn put(&self, hash: ContentHash, picture: Arc<Picture>) {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        pictures.retain(|(kept, _)| *kept != hash);
        pictures.push_back((hash, picture));
        let size = |(_, picture): &(ContentHash, Arc<Picture>)| picture.data.len() as u64;
        while pictures.iter().map(size).sum::<u64>() > self.bound {
            pictures.pop_front();
        }
    }
}
