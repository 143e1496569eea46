//! Files of 8 bits a channel without palette, with their rows in order.
//!
//! Rows are unpacked into a small window and go from there to their place in
//! the picture, so that all work on a row is done while it is at hand.

use fdeflate::Decompressor;
use fearless_simd::{Level, dispatch};

use super::unfilter::unfilter;
use crate::Stop;
use crate::header::{Header, png_chunks};
use crate::picture::{Layout, Picture};

/// How far back packed data may refer to.
const LOOKBACK: usize = 32 << 10;
/// How much is unpacked at once, if a row is not longer.
const STEP: usize = 192 << 10;

/// None if this is another kind of file, if there is anything odd about it, or
/// if the work is to end.
pub(super) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Option<Picture> {
    let layout = match (header.channels, header.bit_depth, header.frames) {
        (1, 8, 1) => Layout::Gray,
        (3, 8, 1) => Layout::Rgb,
        (4, 8, 1) => Layout::Rgba,
        _ => return None,
    };
    if !is_plain(data) {
        return None;
    }
    let length = header.width as usize * layout.packed()?;
    let mut rows = Rows {
        layout,
        level: Level::new(),
        length,
        above: vec![0; length],
        all: length.checked_mul(header.height as usize)?,
        data: Vec::new(),
    };
    rows.data.reserve_exact(rows.all);

    let mut packed = Decompressor::new();
    packed.ignore_adler32();
    let mut window = vec![0; LOOKBACK + STEP.max(length + 1)];
    let (mut start, mut end) = (0, 0);
    for (_, mut body, _) in png_chunks(data).filter(|(name, ..)| name == b"IDAT") {
        loop {
            let (taken, given) = packed.read(body, &mut window, end, false).ok()?;
            body = &body[taken..];
            end += given;
            while end - start > length && !rows.are_complete() {
                rows.take(&window[start..=start + length])?;
                start += length + 1;
            }
            if rows.are_complete() {
                return Some(Picture {
                    width: header.width,
                    height: header.height,
                    layout,
                    data: rows.data,
                });
            }
            if taken == 0 && given == 0 {
                break;
            }
            if end == window.len() {
                if stop.is_stopped() {
                    return None;
                }
                let kept = start.min(end - LOOKBACK);
                window.copy_within(kept.., 0);
                (start, end) = (start - kept, end - kept);
            }
        }
    }
    None
}

/// Whether the file has nothing but rows of pixels in their order, undamaged.
fn is_plain(data: &[u8]) -> bool {
    let (mut began, mut ended) = (false, false);
    for (name, body, end) in png_chunks(data) {
        let is_whole = || {
            let sum = crc32fast::hash(&data[end - body.len() - 8..end - 4]);
            data[end - 4..end] == sum.to_be_bytes()
        };
        let is_fine = match &name {
            // No palette, packed in the one way there is, not interlaced.
            b"IHDR" => matches!(body, [.., 0 | 2 | 6, 0, 0, 0]) && body.len() == 13 && is_whole(),
            b"IDAT" => {
                began = true;
                !ended && is_whole()
            }
            b"IEND" => break,
            // One of the colours means transparent.
            b"tRNS" => false,
            _ => {
                ended = began;
                // What a small letter begins may be skipped, and so may the
                // palette that a picture does not need.
                name[0].is_ascii_lowercase() || &name == b"PLTE"
            }
        };
        if !is_fine {
            return false;
        }
    }
    began
}

/// The picture as far as it is unpacked.
struct Rows {
    layout: Layout,
    level: Level,
    length: usize,
    above: Vec<u8>,
    /// Bytes of the whole picture.
    all: usize,
    data: Vec<u8>,
}

impl Rows {
    fn are_complete(&self) -> bool {
        self.data.len() == self.all
    }

    /// One row, with the number of its filter before it.
    fn take(&mut self, row: &[u8]) -> Option<()> {
        let (filter, row) = row.split_first()?;
        let start = self.data.len();
        self.data.extend_from_slice(row);
        let (before, row) = self.data.split_at_mut(start);
        // Above the first row there is nothing but zeros.
        let above = match start {
            0 => &self.above[..],
            _ => &before[start - self.length..],
        };
        dispatch!(self.level, _ => match self.layout {
            Layout::Gray => unfilter::<1, 8>(*filter, above, row),
            Layout::Rgb => unfilter::<3, 24>(*filter, above, row),
            _ => unfilter::<4, 32>(*filter, above, row),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::any;
    use super::*;
    use crate::measure;
    use png::{BitDepth, ColorType, Encoder, Filter};

    const COLORS: [(ColorType, usize); 3] = [
        (ColorType::Grayscale, 1),
        (ColorType::Rgb, 3),
        (ColorType::Rgba, 4),
    ];

    /// Flat areas, slopes and noise beside each other.
    fn drawn(width: usize, height: usize, channels: usize) -> Vec<u8> {
        let mut seed = 7_u32;
        let mut data = Vec::new();
        for at in 0..width * height {
            let (x, y) = (at % width, at / width);
            for channel in 0..channels {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                data.push(match (x / 23 + y / 5) % 4 {
                    0 => 200 + channel as u8,
                    1 => (x * 3 + y * 5 + channel) as u8,
                    2 => (seed >> 24) as u8,
                    _ => 255,
                });
            }
        }
        data
    }

    fn file(width: u32, height: u32, color: ColorType, filter: Filter, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(&mut out, width, height);
        encoder.set_color(color);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_filter(filter);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(data).unwrap();
        writer.finish().unwrap();
        out
    }

    #[test]
    fn every_filter_and_colour_is_read_as_it_was_written() {
        let filters = [
            Filter::NoFilter,
            Filter::Sub,
            Filter::Up,
            Filter::Avg,
            Filter::Paeth,
            Filter::Adaptive,
        ];
        for (color, channels) in COLORS {
            for (width, height) in [(1, 1), (7, 3), (8, 2), (97, 61), (1, 300), (9000, 9)] {
                let data = drawn(width as usize, height as usize, channels);
                for filter in filters {
                    let file = file(width, height, color, filter, &data);
                    let header = measure(&file).unwrap();
                    let name = format!("{width}×{height} {color:?} {filter:?}");
                    let picture = decode(&file, &header, &Stop::new());
                    assert!(picture.expect(&name).data == data, "{name}");
                }
            }
        }
    }

    #[test]
    fn what_is_damaged_or_odd_is_left_to_the_general_decoder() {
        let data = drawn(50, 40, 3);
        let sound = file(50, 40, ColorType::Rgb, Filter::Paeth, &data);
        let header = measure(&sound).unwrap();
        let open = |file: &[u8]| decode(file, &header, &Stop::new());
        assert!(open(&sound).is_some());
        for at in [20, 30, sound.len() / 2, sound.len() - 14] {
            let mut broken = sound.clone();
            broken[at] ^= 1;
            assert!(open(&broken).is_none(), "{at}");
        }
        assert!(open(&sound[..sound.len() - 30]).is_none());
        let stop = Stop::new();
        stop.stop();
        let large = file(200, 900, ColorType::Rgb, Filter::Sub, &drawn(200, 900, 3));
        assert!(decode(&large, &measure(&large).unwrap(), &stop).is_none());
    }

    #[test]
    fn both_decoders_see_the_same_picture() {
        for (color, channels) in COLORS {
            let file = file(97, 61, color, Filter::Adaptive, &drawn(97, 61, channels));
            let header = measure(&file).unwrap();
            let ours = decode(&file, &header, &Stop::new()).unwrap();
            let theirs = any::decode(&file, &header, &Stop::new()).unwrap();
            assert_eq!(ours.layout, theirs.layout);
            assert!(ours.data == theirs.data, "{color:?}");
        }
    }
}
