//! JPEG markers up to the first scan.

use super::{Coding, Header, MAX_PROFILE, be16, exif};
use crate::{Format, Orientation};

const START_OF_SCAN: u8 = 0xDA;
const APP1: u8 = 0xE1;
const APP2: u8 = 0xE2;
const PROFILE: &[u8] = b"ICC_PROFILE\0";

pub(super) fn measure(data: &[u8]) -> Option<Header> {
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
    let coding = match (marker, bit_depth, channels) {
        (0xC0 | 0xC1, 8, 1 | 3 | 4) => Coding::Sequential,
        (0xC2, 8, 1 | 3 | 4) => Coding::Progressive,
        _ => Coding::Exotic,
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
        coding,
    })
}

/// The profile's pieces, put together in their own order.
pub(super) fn color_profile(data: &[u8]) -> Option<Vec<u8>> {
    let mut pieces: Vec<(u8, &[u8])> = segments(data)
        .filter(|(marker, _)| *marker == APP2)
        .filter_map(|(_, body)| {
            let piece = body.strip_prefix(PROFILE)?;
            Some((*piece.first()?, piece.get(2..)?))
        })
        .collect();
    pieces.sort_by_key(|(number, _)| *number);
    let size: usize = pieces.iter().map(|(_, piece)| piece.len()).sum();
    let sane = (1..=MAX_PROFILE).contains(&size);
    sane.then(|| {
        pieces
            .into_iter()
            .flat_map(|(_, piece)| piece)
            .copied()
            .collect()
    })
}

/// The marker segments, the first scan's header last.
fn segments(data: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        // Any number of 0xFF may stand before a marker.
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
