//! JPEG marker segments up to the first scan (ITU T.81, Annex B).

use crate::endian::be16;
use crate::{Compression, Format, Header, Orientation, exif};

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

/// Marker and body of each segment, up to and including the first scan header.
pub fn segments(data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        // Any number of fill bytes 0xFF may precede a marker (B.1.1.2).
        while data.get(at) == Some(&0xFF) && data.get(at + 1) == Some(&0xFF) {
            at += 1;
        }
        let marker = match data.get(at..)? {
            [0xFF, marker, ..] => *marker,
            _ => return None,
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

fn is_start_of_frame(marker: u8) -> bool {
    matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC)
}
