//! Joins chunks that arrived together.

use bytes::{Bytes, BytesMut};

/// Bytes in order. A single chunk, the usual case, is not copied.
#[derive(Default)]
pub(super) struct JoinedChunks {
    first: Bytes,
    all: BytesMut,
}

impl JoinedChunks {
    pub(super) fn push(&mut self, chunk: Bytes) {
        if self.len() == 0 {
            self.first = chunk;
            return;
        }
        if self.all.is_empty() {
            // A second chunk suggests that more follow.
            self.all
                .reserve((self.first.len() + chunk.len()).max(4 * 1024));
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&chunk);
    }

    pub(super) fn len(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.freeze()
        }
    }

    pub(super) fn into_mut(self) -> BytesMut {
        if self.all.is_empty() {
            BytesMut::from(self.first)
        } else {
            self.all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(chunks: &[&'static str]) -> JoinedChunks {
        let mut joined = JoinedChunks::default();
        for chunk in chunks {
            joined.push(Bytes::from_static(chunk.as_bytes()));
        }
        joined
    }

    #[test]
    fn chunks_keep_their_order() {
        for (chunks, all) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["", "a", "", "bc", "d"], "abcd"),
        ] {
            assert_eq!(joined(chunks).len(), all.len());
            assert_eq!(joined(chunks).into_bytes(), all);
            assert_eq!(joined(chunks).into_mut(), all);
        }
    }

    #[test]
    fn a_single_chunk_is_the_same_memory() {
        let chunk = Bytes::from(vec![1; 100]);
        let mut joined = JoinedChunks::default();
        joined.push(chunk.clone());
        assert_eq!(joined.into_bytes().as_ptr(), chunk.as_ptr());
    }
}
