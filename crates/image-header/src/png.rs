//! PNG chunks, from `IHDR` to `IEND` (PNG specification, section 5).

use crate::endian::be32;
use crate::{Compression, Format, Header, Orientation, exif};

pub(crate) fn measure(data: &[u8]) -> Option<Header> {
    let mut chunks = chunks(data);
    let (_, ihdr, _) = chunks.next().filter(|(name, ..)| name == b"IHDR")?;
    let [bit_depth, color] = *ihdr.get(8..)?.first_chunk()?;
    let channels = match color {
        0 | 3 => 1,
        2 => 3,
        4 => 2,
        6 => 4,
        _ => return None,
    };
    let mut header = Header {
        format: Format::Png,
        width: be32(ihdr, 0)?,
        height: be32(ihdr, 4)?,
        frames: 1,
        bit_depth,
        channels,
        orientation: Orientation::UPRIGHT,
        clean_end: false,
        compression: Compression::Png,
    };
    for (name, body, end) in chunks {
        match &name {
            b"acTL" => header.frames = be32(body, 0).unwrap_or(1).max(1),
            b"eXIf" => header.orientation = exif::orientation(body),
            b"IEND" => {
                header.clean_end = end == data.len();
                break;
            }
            _ => {}
        }
    }
    Some(header)
}

/// Where the image ends: after `IEND`.
pub(crate) fn end(data: &[u8]) -> Option<usize> {
    let mut chunks = chunks(data);
    chunks.find_map(|(name, _, end)| (&name == b"IEND").then_some(end))
}

/// Type, data and end offset (after the CRC) of every complete chunk. CRCs are not
/// checked.
pub fn chunks(data: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8], usize)> {
    let mut at = 8;
    std::iter::from_fn(move || {
        let length = be32(data, at)? as usize;
        let name = *data.get(at + 4..)?.first_chunk()?;
        let end = at.checked_add(length)?.checked_add(12)?;
        let body = data.get(at + 8..end - 4)?;
        data.get(end - 4..end)?;
        at = end;
        Some((name, body, end))
    })
}
