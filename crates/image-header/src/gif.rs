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
    let blocks = walk(data, *data.get(10)?);
    header.frames = blocks.frames.max(1);
    header.clean_end = blocks.end == Some(data.len());
    // A first frame beyond the logical screen enlarges it, as in browsers.
    if let Some(first) = blocks.first_image {
        let far = |offset: usize| {
            let start = le16(data, first + 1 + offset).map(u32::from);
            let length = le16(data, first + 5 + offset).map(u32::from);
            start
                .zip(length)
                .map_or(0, |(start, length)| start + length)
        };
        header.width = header.width.max(far(0));
        header.height = header.height.max(far(2));
    }
    Some(header)
}

/// Where the image ends: after its trailer.
pub(crate) fn end(data: &[u8]) -> Option<usize> {
    walk(data, *data.get(10)?).end
}

/// The blocks of a file.
struct Blocks {
    frames: u32,
    /// The offset of the first image descriptor.
    first_image: Option<usize>,
    /// The offset after the trailer, if there is one.
    end: Option<usize>,
}

/// Walks over the blocks up to the trailer, or to the first malformed one.
fn walk(data: &[u8], flags: u8) -> Blocks {
    let mut at = 13 + color_table_bytes(flags);
    let mut blocks = Blocks {
        frames: 0,
        first_image: None,
        end: None,
    };
    loop {
        let next = match data.get(at) {
            Some(&EXTENSION) => skip_sub_blocks(data, at + 2),
            Some(&IMAGE) => {
                blocks.frames += 1;
                blocks.first_image = blocks.first_image.or(Some(at));
                let flags = data.get(at + 9).copied().unwrap_or(0);
                skip_sub_blocks(data, at + 11 + color_table_bytes(flags))
            }
            Some(&TRAILER) => {
                blocks.end = Some(at + 1);
                return blocks;
            }
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return blocks,
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
