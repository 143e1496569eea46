//! JPEG marker segments up to the first scan (ITU T.81, Annex B).

use crate::endian::be16;
use crate::{Compression, Format, Header, Orientation, exif};

const END_OF_IMAGE: u8 = 0xD9;
const START_OF_SCAN: u8 = 0xDA;
const APP1: u8 = 0xE1;

pub(crate) fn measure(data: &[u8]) -> Option<Header> {
    let mut orientation = Orientation::UPRIGHT;
    let mut frame = None;
    for (marker, body) in segments(data) {
        match marker {
            APP1 if body.starts_with(b"Exif\0\0") => orientation = exif::orientation(body),
            _ if is_start_of_frame(marker) && frame.is_none() => frame = Some((marker, body)),
            START_OF_SCAN => break,
            _ => {}
        }
    }
    let (marker, body) = frame?;
    let bit_depth = *body.first()?;
    let channels = *body.get(5)?;
    let compression = match (marker, bit_depth, channels) {
        (0xC0 | 0xC1, 8, 1 | 3 | 4) => Compression::JpegSequential,
        (0xC2, 8, 1 | 3 | 4) => Compression::JpegProgressive,
        _ => Compression::JpegOther,
    };
    Some(Header {
        format: Format::Jpeg,
        width: u32::from(be16(body, 3)?),
        height: u32::from(be16(body, 1)?),
        frames: 1,
        bit_depth,
        channels,
        orientation,
        clean_end: data.ends_with(&[0xFF, 0xD9]),
        compression,
    })
}

/// Marker and body of each segment, up to and including the first scan header, or to the end of
/// the image.
///
/// Bytes between segments are skipped: some cameras write them.
pub fn segments(data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        let marker = loop {
            at = next_marker(data, at)?;
            match *data.get(at + 1)? {
                END_OF_IMAGE => return None,
                marker if is_alone(marker) => at += 2,
                marker => break marker,
            }
        };
        let length = usize::from(be16(data, at + 2)?);
        let body = data.get(at + 4..at + 2 + length.max(2))?;
        at = if marker == START_OF_SCAN {
            data.len()
        } else {
            at + 2 + length.max(2)
        };
        Some((marker, body))
    })
}

/// The position of the next marker: a 0xFF followed by a code. Stuffed zeros (B.1.1.5) and
/// fill bytes (B.1.1.2) are not markers.
pub fn next_marker(data: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += data.get(at..)?.iter().position(|byte| *byte == 0xFF)?;
        match data.get(at + 1)? {
            0x00 => at += 2,
            0xFF => at += 1,
            _ => return Some(at),
        }
    }
}

/// Where the image ends: after its EOI marker.
pub(crate) fn end(data: &[u8]) -> Option<usize> {
    let mut at = 2;
    loop {
        at = next_marker(data, at)?;
        at += match *data.get(at + 1)? {
            END_OF_IMAGE => return Some(at + 2),
            marker if is_alone(marker) => 2,
            _ => 2 + usize::from(be16(data, at + 2)?).max(2),
        };
    }
}

/// Markers without a segment: TEM, RSTn, SOI.
fn is_alone(marker: u8) -> bool {
    matches!(marker, 0x01 | 0xD0..=0xD8)
}

fn is_start_of_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_ends_where_the_image_ends() {
        let frame = b"\xFF\xC0\0\x0B\x08\0\x07\0\x05\x01\x01\x11\0";
        let scan = b"\xFF\xDA\0\x08\x01\x01\0\0\x3F\0\0\xFF\xD9";
        let file = |between: &[u8]| [b"\xFF\xD8", between, frame, scan].concat();
        for between in [b"".as_slice(), b"\xFF\xD0", b"\xFF\xD8", b"\xFF\x01"] {
            let data = file(between);
            let header = measure(&data).unwrap();
            assert_eq!((header.width, header.height), (5, 7), "{between:x?}");
            assert_eq!(end(&data), Some(data.len()), "{between:x?}");
        }
        // Cut off at its end, such a file has no picture.
        let data = file(b"\xFF\xD9");
        assert_eq!(end(&data), Some(4));
        assert!(measure(&data).is_none());
    }
}
