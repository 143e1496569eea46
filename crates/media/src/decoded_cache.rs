//! An LRU cache of decoded pictures, for the next target of the same request.
//!
//! Its entries are few and large, so a list suffices.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use majordomo_codecs::{DecodedSize, Picture};

/// The BLAKE3 hash of the encoded bytes.
pub(crate) type ContentHash = [u8; 32];

/// The encoded image, and the size at which it was decoded.
pub(crate) type PictureKey = (ContentHash, DecodedSize);

pub(crate) struct DecodedCache {
    bound: u64,
    pictures: Mutex<VecDeque<(PictureKey, Arc<Picture>)>>,
}

impl DecodedCache {
    pub(crate) fn new(bound: u64) -> Self {
        Self {
            bound,
            pictures: Mutex::default(),
        }
    }

    /// The picture with this key. A larger one would suffice, but give a different result.
    pub(crate) fn get(&self, key: &PictureKey) -> Option<Arc<Picture>> {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        let at = pictures.iter().position(|(kept, _)| kept == key)?;
        let found = pictures.remove(at)?;
        let picture = Arc::clone(&found.1);
        pictures.push_back(found);
        Some(picture)
    }

    /// Inserts a picture; replaces one with the same key.
    pub(crate) fn put(&self, key: PictureKey, picture: Arc<Picture>) {
        let mut pictures = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        pictures.retain(|(kept, _)| *kept != key);
        pictures.push_back((key, picture));
        let size = |(_, picture): &(PictureKey, Arc<Picture>)| picture.data.len() as u64;
        while pictures.iter().map(size).sum::<u64>() > self.bound {
            pictures.pop_front();
        }
    }
}
