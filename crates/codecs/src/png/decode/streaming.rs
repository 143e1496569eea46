//! Files with 8-bit samples, no palette and no interlacing.
//!
//! Scanlines are inflated (RFC 1951) into a small window, unfiltered, and moved to the
//! picture while they are in the cache. A picture to be reduced is reduced during
//! decoding, so it never exists at full size.

use fdeflate::Decompressor;
use fearless_simd::{Level, dispatch};
use majordomo_image_header::{Header, png::chunks as png_chunks};

use super::unfilter::unfilter;
use crate::picture::{Layout, Picture, pixel_count};
use crate::scale::{Channels, Reducer};
use crate::simd_level::level;
use crate::{SizeHint, Stop};

/// The DEFLATE window (RFC 1951, section 2).
const DEFLATE_WINDOW: usize = 32 << 10;
/// Bytes inflated at once, unless a scanline is longer.
const STEP: usize = 192 << 10;

/// Decodes a file; `None` if it is of another kind, damaged or stopped.
pub(super) fn decode(data: &[u8], header: &Header, hint: SizeHint, stop: &Stop) -> Option<Picture> {
    let layout = match (header.channels, header.bit_depth, header.frames) {
        (1, 8, 1) => Layout::Gray,
        (3, 8, 1) => Layout::Rgb,
        (4, 8, 1) => Layout::Rgba,
        _ => return None,
    };
    if !is_supported(data) {
        return None;
    }
    let mut rows = RowSink::new(header, layout, hint)?;
    let length = rows.length;
    let mut packed = Decompressor::new();
    packed.ignore_adler32();
    let mut window = vec![0; DEFLATE_WINDOW + STEP.max(length + 1)];
    let (mut start, mut end) = (0, 0);
    for (_, mut body, _) in png_chunks(data).filter(|(name, ..)| name == b"IDAT") {
        loop {
            let (taken, given) = packed.read(body, &mut window, end, false).ok()?;
            body = &body[taken..];
            end += given;
            while end - start > length && !rows.is_complete() {
                rows.push(&window[start..=start + length])?;
                start += length + 1;
            }
            if rows.is_complete() {
                return Some(rows.finish());
            }
            if taken == 0 && given == 0 {
                break;
            }
            if end == window.len() {
                if stop.is_stopped() {
                    return None;
                }
                let kept = start.min(end - DEFLATE_WINDOW);
                window.copy_within(kept.., 0);
                (start, end) = (start - kept, end - kept);
            }
        }
    }
    None
}

/// Whether the file has only 8-bit scanlines in order, with valid CRCs.
fn is_supported(data: &[u8]) -> bool {
    let (mut began, mut ended) = (false, false);
    for (name, body, end) in png_chunks(data) {
        let is_whole = || {
            let sum = crc32fast::hash(&data[end - body.len() - 8..end - 4]);
            data[end - 4..end] == sum.to_be_bytes()
        };
        let is_fine = match &name {
            // No palette, compression and filter method 0, not interlaced.
            b"IHDR" => matches!(body, [.., 0 | 2 | 6, 0, 0, 0]) && body.len() == 13 && is_whole(),
            b"IDAT" => {
                began = true;
                !ended && is_whole()
            }
            b"IEND" => break,
            // Transparency by colour key.
            b"tRNS" => false,
            _ => {
                ended = began;
                // Ancillary chunks are skipped, and so is a suggested palette.
                name[0].is_ascii_lowercase() || &name == b"PLTE"
            }
        };
        if !is_fine {
            return false;
        }
    }
    began
}

/// Collects unfiltered scanlines.
struct RowSink {
    level: Level,
    size: (u32, u32),
    layout: Layout,
    /// Bytes of a scanline.
    length: usize,
    zero_row: Vec<u8>,
    /// Scanlines received.
    taken: usize,
    /// The latest scanlines: all, or those still needed.
    data: Vec<u8>,
    reduced: Option<Reduced>,
}

/// A picture that is reduced while it is decoded.
struct Reduced {
    reducer: Reducer,
    size: (u32, u32),
    data: Vec<u8>,
}

impl RowSink {
    fn new(header: &Header, layout: Layout, hint: SizeHint) -> Option<Self> {
        let size = (header.width, header.height);
        let length = header.width as usize * layout.bytes_per_pixel()?;
        let wanted = hint.size();
        let reducer = match (layout, hint) {
            (Layout::Gray, SizeHint::ReduceTo(_)) => {
                Reducer::new(level(), Channels::One, size, wanted)
            }
            (Layout::Rgb, SizeHint::ReduceTo(_)) => {
                Reducer::new(level(), Channels::Three, size, wanted)
            }
            // Whether alpha is used is known only at the end.
            _ => None,
        };
        let held = match &reducer {
            // Twice the batch, so that few rows are moved.
            Some(reducer) => 2 * reducer.batch_rows(),
            None => header.height as usize,
        };
        let mut data = Vec::new();
        data.reserve_exact(length.checked_mul(held.min(header.height as usize))?);
        Some(Self {
            level: level(),
            size,
            layout,
            length,
            zero_row: vec![0; length],
            taken: 0,
            data,
            reduced: reducer.map(|reducer| Reduced {
                reducer,
                size: wanted,
                data: vec![
                    0;
                    pixel_count(wanted.0, wanted.1) * layout.bytes_per_pixel().unwrap_or(1)
                ],
            }),
        })
    }

    fn is_complete(&self) -> bool {
        self.taken == self.size.1 as usize
    }

    /// Appends a scanline, preceded by its filter type.
    fn push(&mut self, row: &[u8]) -> Option<()> {
        if self.data.len() + self.length > self.data.capacity() {
            self.reduce();
        }
        let (filter, row) = row.split_first()?;
        let start = self.data.len();
        self.data.extend_from_slice(row);
        let (before, row) = self.data.split_at_mut(start);
        // The scanline above the first is all zeros.
        let above = match start {
            0 => &self.zero_row[..],
            _ => &before[start - self.length..],
        };
        self.taken += 1;
        dispatch!(self.level, _ => match self.layout {
            Layout::Gray => unfilter::<1, 8>(*filter, above, row),
            Layout::Rgb => unfilter::<3, 24>(*filter, above, row),
            _ => unfilter::<4, 32>(*filter, above, row),
        })
    }

    /// Reduces the rows, and keeps those still needed: at least the last, for the next
    /// filter.
    fn reduce(&mut self) {
        if let Some(reduced) = &mut self.reduced {
            let first = self.taken - self.data.len() / self.length;
            let needed = reduced.reducer.feed(&self.data, first, &mut reduced.data);
            let kept = needed.min(self.taken - 1) - first;
            self.data.drain(..kept * self.length);
        }
    }

    fn finish(mut self) -> Picture {
        self.reduce();
        let (size, data) = match self.reduced {
            Some(reduced) => (reduced.size, reduced.data),
            None => (self.size, self.data),
        };
        Picture {
            width: size.0,
            height: size.1,
            layout: self.layout,
            data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fallback;
    use super::*;
    use crate::downscale::downscale;
    use majordomo_image_header::measure;
    use png::{BitDepth, ColorType, Encoder, Filter};

    const WHOLE: SizeHint = SizeHint::AtLeast((1, 1));
    const COLORS: [(ColorType, usize); 3] = [
        (ColorType::Grayscale, 1),
        (ColorType::Rgb, 3),
        (ColorType::Rgba, 4),
    ];

    /// Flat areas, gradients and noise.
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
    fn every_filter_and_colour_type_decodes_to_the_encoded_pixels() {
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
                    let picture = decode(&file, &header, WHOLE, &Stop::new());
                    assert!(picture.expect(&name).data == data, "{name}");
                }
            }
        }
    }

    #[test]
    fn reducing_while_decoding_equals_downscaling_afterwards() {
        for (color, channels) in COLORS {
            for (size, to) in [
                ((97, 610), (41, 258)),
                ((300, 9), (299, 8)),
                ((9, 40), (9, 7)),
            ] {
                let data = drawn(size.0 as usize, size.1 as usize, channels);
                let file = file(size.0, size.1, color, Filter::Adaptive, &data);
                let header = measure(&file).unwrap();
                let open = |hint| decode(&file, &header, hint, &Stop::new()).unwrap();
                let whole = open(WHOLE);
                let once = open(SizeHint::ReduceTo(to));
                if channels == 4 {
                    assert_eq!((once.width, once.height), size);
                    continue;
                }
                let later = downscale(&whole, to.0, to.1, &Stop::new()).unwrap();
                assert_eq!((once.width, once.height), to);
                assert!(once.data == later.data, "{size:?} {color:?}");
            }
        }
    }

    #[test]
    fn damaged_and_unusual_files_are_left_to_the_fallback() {
        let data = drawn(50, 40, 3);
        let sound = file(50, 40, ColorType::Rgb, Filter::Paeth, &data);
        let header = measure(&sound).unwrap();
        let open = |file: &[u8]| decode(file, &header, WHOLE, &Stop::new());
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
        assert!(decode(&large, &measure(&large).unwrap(), WHOLE, &stop).is_none());
    }

    #[test]
    fn streaming_and_fallback_decoders_agree() {
        for (color, channels) in COLORS {
            let file = file(97, 61, color, Filter::Adaptive, &drawn(97, 61, channels));
            let header = measure(&file).unwrap();
            let ours = decode(&file, &header, WHOLE, &Stop::new()).unwrap();
            let theirs = fallback::decode(&file, &header, &Stop::new()).unwrap();
            assert_eq!(ours.layout, theirs.layout);
            assert!(ours.data == theirs.data, "{color:?}");
        }
    }
}
