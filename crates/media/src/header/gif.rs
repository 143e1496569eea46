//! GIF blocks, from the screen to the trailer.

use super::{Coding, Header, le16};
use crate::{Format, Orientation};

const EXTENSION: u8 = 0x21;
const IMAGE: u8 = 0x2C;
const TRAILER: u8 = 0x3B;

pub(super) fn measure(data: &[u8]) -> Option<Header> {
    let mut header = Header {
        format: Format::Gif,
        width: u32::from(le16(data, 6)?),
        height: u32::from(le16(data, 8)?),
        frames: 1,
        bit_depth: 8,
        channels: 1,
        orientation: Orientation::UPRIGHT,
        clean_end: false,
        coding: Coding::Gif,
    };
    let (frames, clean_end) = walk(data, *data.get(10)?);
    header.frames = frames.max(1);
    header.clean_end = clean_end;
    Some(header)
}

/// Counts the frames; a broken block ends the count.
fn walk(data: &[u8], flags: u8) -> (u32, bool) {
    let mut at = 13 + palette_bytes(flags);
    let mut frames = 0;
    loop {
        let next = match data.get(at) {
            Some(&EXTENSION) => skip_blocks(data, at + 2),
            Some(&IMAGE) => {
                frames += 1;
                let flags = data.get(at + 9).copied().unwrap_or(0);
                skip_blocks(data, at + 11 + palette_bytes(flags))
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

fn palette_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 {
        0
    } else {
        6 << (flags & 7)
    }
}

fn skip_blocks(data: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*data.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}
