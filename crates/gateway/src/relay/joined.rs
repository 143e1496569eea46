//! Pieces that came together and go out together.

use bytes::{Bytes, BytesMut};

/// Bytes in their order. A single piece, as of a paced stream, is not copied.
#[derive(Default)]
pub(super) struct Joined {
    first: Bytes,
    all: BytesMut,
}

impl Joined {
    pub(super) fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            // Where a second one is, more are to come.
            self.all
                .reserve((self.first.len() + piece.len()).max(4 * 1024));
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&piece);
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

    fn joined(pieces: &[&'static str]) -> Joined {
        let mut joined = Joined::default();
        for piece in pieces {
            joined.push(Bytes::from_static(piece.as_bytes()));
        }
        joined
    }

    #[test]
    fn pieces_keep_their_order() {
        for (pieces, all) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["", "a", "", "bc", "d"], "abcd"),
        ] {
            assert_eq!(joined(pieces).len(), all.len());
            assert_eq!(joined(pieces).into_bytes(), all);
            assert_eq!(joined(pieces).into_mut(), all);
        }
    }

    #[test]
    fn a_single_piece_is_the_same_memory() {
        let piece = Bytes::from(vec![1; 100]);
        let mut joined = Joined::default();
        joined.push(piece.clone());
        assert_eq!(joined.into_bytes().as_ptr(), piece.as_ptr());
    }
}
