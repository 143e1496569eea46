//! GIF89a blocks, from the logical screen descriptor to the trailer.

use crate::endian::le16;
use crate::{Compression, Format, Header, Orientation};

const EXTENSION: u8 = 0x21;
const IMAGE: u8 = 0x2C;
const TRAILER: u8 = 0x3B;

pub(crate) fn measure(data: &[u8]) -> Option<Header> {
    let mut header = Header {
        format: Format::Gif,
        width: u32::from(le16(data, 6)?),
        height: u32::from(le16(data, 8)?),
        frames: 1,
        bit_depth: 8,
        channels: 1,
        orientation: Orientation::UPRIGHT,
        clean_end: false,
        compression: Compression::Gif,
    };
    let (frames, clean_end) = walk(data, *data.get(10)?);
    header.frames = frames.max(1);
    header.clean_end = clean_end;
    Some(header)
}

/// Counts the frames up to the first malformed block, and reports whether the file
/// ends with the trailer.
fn walk(data: &[u8], flags: u8) -> (u32, bool) {
    let mut at = 13 + color_table_bytes(flags);
    let mut frames = 0;
    loop {
        let next = match data.get(at) {
            Some(&EXTENSION) => skip_sub_blocks(data, at + 2),
            Some(&IMAGE) => {
                frames += 1;
                let flags = data.get(at + 9).copied().unwrap_or(0);
                skip_sub_blocks(data, at + 11 + color_table_bytes(flags))
            }
            Some(&TRAILER) => return (frames, at + 1 == data.len()),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return (frames, false),
        }
    }
}

fn color_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 {
        0
    } else {
        6 << (flags & 7)
    }
}

fn skip_sub_blocks(data: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*data.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}
