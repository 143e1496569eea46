//! The EXIF orientation tag in the first image file directory (IFD0).
//!
//! Only IFD0 is read, and the pointer to the next directory is ignored, so a cycle of
//! directories cannot cause a loop.

use crate::Orientation;
use crate::endian::{be16, be32, le16, le32};

const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// Reads the TIFF structure of an EXIF block, with or without its `Exif` preamble.
pub(crate) fn orientation(exif: &[u8]) -> Orientation {
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    orientation_value(tiff).map_or(Orientation::UPRIGHT, Orientation::from_exif)
}

fn orientation_value(tiff: &[u8]) -> Option<u16> {
    let little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at| {
        if little {
            le16(tiff, at)
        } else {
            be16(tiff, at)
        }
    };
    let long = |at| {
        if little {
            le32(tiff, at)
        } else {
            be32(tiff, at)
        }
    };
    let directory = long(4)? as usize;
    let entries = short(directory)?;
    for entry in 0..usize::from(entries) {
        let at = directory.checked_add(2)?.checked_add(entry * 12)?;
        if short(at)? == ORIENTATION {
            return if short(at + 2)? == SHORT {
                short(at + 8)
            } else {
                None
            };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders_parse_and_malformed_exif_is_upright() {
        let little = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
        assert_eq!(orientation(little), Orientation::from_exif(6));
        assert_eq!(orientation(big), Orientation::from_exif(6));

        let bogus = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0";
        let far = b"MM\0*\xFF\xFF\xFF\xFF\0\x01";
        for exif in [bogus.as_slice(), far, b"", b"Exif\0\0"] {
            assert!(orientation(exif).is_upright());
        }
    }
}
