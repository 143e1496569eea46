//! Files with 8-bit samples, no palette and no interlacing.
//!
//! Scanlines are inflated (RFC 1951) into a small window, unfiltered, and moved to the
//! picture while they are in the cache. A picture to be reduced is reduced during
//! decoding, so it never exists at full size.

use fdeflate::Decompressor;
use fearless_simd::{Level, dispatch};
use majordomo_image_header::{Header, png::chunks as png_chunks};

use super::unfilter::unfilter;
use crate::memory::Buffer;
use crate::picture::{Layout, Picture, pixel_count};
use crate::scale::{Channels, Reducer};
use crate::simd_level::level;
use crate::{CodecError, Job, SizeHint};

/// The DEFLATE window (RFC 1951, section 2).
const DEFLATE_WINDOW: usize = 32 << 10;
/// Bytes inflated at once, unless a scanline is longer.
const STEP: usize = 192 << 10;

/// Decodes a file; `None` if it is of another kind or damaged.
pub(super) fn decode(
    data: &[u8],
    header: &Header,
    hint: SizeHint,
    job: &Job,
) -> Result<Option<Picture>, CodecError> {
    let layout = match (header.channels, header.bit_depth, header.frames) {
        (1, 8, 1) => Layout::Gray,
        (3, 8, 1) => Layout::Rgb,
        (4, 8, 1) => Layout::Rgba,
        _ => return Ok(None),
    };
    if !is_supported(data) {
        return Ok(None);
    }
    let mut rows = RowSink::new(header, layout, hint, job)?;
    let length = rows.length;
    let mut packed = Decompressor::new();
    packed.ignore_adler32();
    let whole = (length + 1).saturating_mul(header.height as usize);
    let step = STEP.min(whole).max(length + 1);
    let mut window = job.memory.zeroed(DEFLATE_WINDOW + step)?;
    let (mut start, mut end) = (0, 0);
    for (_, mut body, _) in png_chunks(data).filter(|(name, ..)| name == b"IDAT") {
        loop {
            job.check()?;
            // A row may be long: the flag is polled more often than that.
            let room = (end + STEP).min(window.len());
            let Ok((taken, given)) = packed.read(body, &mut window[..room], end, false) else {
                return Ok(None);
            };
            body = &body[taken..];
            end += given;
            while end - start > length && !rows.is_complete() {
                if rows.push(&window[start..=start + length], job)?.is_none() {
                    return Ok(None);
                }
                start += length + 1;
            }
            if rows.is_complete() {
                return rows.finish(job).map(Some);
            }
            if taken == 0 && given == 0 {
                break;
            }
            if end == window.len() {
                let kept = start.min(end - DEFLATE_WINDOW);
                window.copy_within(kept.., 0);
                (start, end) = (start - kept, end - kept);
            }
        }
    }
    Ok(None)
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
    /// Scanlines received.
    taken: usize,
    /// The latest scanlines: all, or those still needed.
    data: Buffer,
    reduced: Option<Reduced>,
}

/// A picture that is reduced while it is decoded.
struct Reduced {
    reducer: Reducer,
    size: (u32, u32),
    data: Buffer,
}

impl RowSink {
    fn new(header: &Header, layout: Layout, hint: SizeHint, job: &Job) -> Result<Self, CodecError> {
        let size = (header.width, header.height);
        let pixel = layout.bytes_per_pixel().unwrap_or(4);
        let length = header.width as usize * pixel;
        let wanted = hint.size();
        let reducer = match (layout, hint) {
            (Layout::Gray, SizeHint::ReduceTo(_)) => {
                Reducer::new(level(), Channels::One, size, wanted, job)?
            }
            (Layout::Rgb, SizeHint::ReduceTo(_)) => {
                Reducer::new(level(), Channels::Three, size, wanted, job)?
            }
            // Whether alpha is used is known only at the end.
            _ => None,
        };
        let held = match &reducer {
            // Twice the batch, so that few rows are moved.
            Some(reducer) => 2 * reducer.batch_rows(),
            None => header.height as usize,
        };
        let held = held.min(header.height as usize);
        let reduced = match reducer {
            Some(reducer) => Some(Reduced {
                reducer,
                size: wanted,
                data: job.memory.zeroed(pixel_count(wanted.0, wanted.1) * pixel)?,
            }),
            None => None,
        };
        Ok(Self {
            level: level(),
            size,
            layout,
            length,
            taken: 0,
            data: job.memory.with_room(length.saturating_mul(held))?,
            reduced,
        })
    }

    fn is_complete(&self) -> bool {
        self.taken == self.size.1 as usize
    }

    /// Appends a scanline, preceded by its filter type; `None` for an unknown filter.
    fn push(&mut self, row: &[u8], job: &Job) -> Result<Option<()>, CodecError> {
        if self.data.len() + self.length > self.data.room() {
            self.reduce(job)?;
        }
        let Some((filter, row)) = row.split_first() else {
            return Ok(None);
        };
        let start = self.data.len();
        self.data.append(row)?;
        let (before, row) = self.data.split_at_mut(start);
        self.taken += 1;
        let above = match start {
            0 => None,
            _ => Some(&before[start - self.length..]),
        };
        Ok(dispatch!(self.level, _ => match self.layout {
            Layout::Gray => unfilter::<1, 8>(*filter, above, row),
            Layout::Rgb => unfilter::<3, 24>(*filter, above, row),
            _ => unfilter::<4, 32>(*filter, above, row),
        }))
    }

    /// Reduces the rows, and keeps those still needed: at least the last, for the next
    /// filter.
    fn reduce(&mut self, job: &Job) -> Result<(), CodecError> {
        if let Some(reduced) = &mut self.reduced {
            let first = self.taken - self.data.len() / self.length;
            let needed = reduced
                .reducer
                .feed(&self.data, first, &mut reduced.data, job)?;
            let kept = needed.min(self.taken - 1) - first;
            self.data.remove_first(kept * self.length);
        }
        Ok(())
    }

    fn finish(mut self, job: &Job) -> Result<Picture, CodecError> {
        self.reduce(job)?;
        let (size, data) = match self.reduced {
            Some(reduced) => (reduced.size, reduced.data),
            None => (self.size, self.data),
        };
        Ok(Picture {
            width: size.0,
            height: size.1,
            layout: self.layout,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fallback;
    use super::*;
    use crate::downscale::downscale;
    use crate::plane::Chroma;
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
                    let picture = decode(&file, &header, WHOLE, &Job::unlimited()).unwrap();
                    assert!(picture.expect(&name).data[..] == data, "{name}");
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
                let open = |hint| {
                    decode(&file, &header, hint, &Job::unlimited())
                        .unwrap()
                        .unwrap()
                };
                let whole = open(WHOLE);
                let once = open(SizeHint::ReduceTo(to));
                if channels == 4 {
                    assert_eq!((once.width, once.height), size);
                    continue;
                }
                let later = downscale(&whole, to, Chroma::Half, &Job::unlimited()).unwrap();
                assert_eq!((once.width, once.height), to);
                assert!(once.data[..] == later.data[..], "{size:?} {color:?}");
            }
        }
    }

    #[test]
    fn damaged_and_unusual_files_are_left_to_the_fallback() {
        let data = drawn(50, 40, 3);
        let sound = file(50, 40, ColorType::Rgb, Filter::Paeth, &data);
        let header = measure(&sound).unwrap();
        let open = |file: &[u8]| decode(file, &header, WHOLE, &Job::unlimited()).unwrap();
        assert!(open(&sound).is_some());
        for at in [20, 30, sound.len() / 2, sound.len() - 14] {
            let mut broken = sound.clone();
            broken[at] ^= 1;
            assert!(open(&broken).is_none(), "{at}");
        }
        assert!(open(&sound[..sound.len() - 30]).is_none());
        let job = Job::unlimited();
        job.stop.stop();
        let large = file(200, 900, ColorType::Rgb, Filter::Sub, &drawn(200, 900, 3));
        let stopped = decode(&large, &measure(&large).unwrap(), WHOLE, &job);
        assert_eq!(stopped.unwrap_err(), CodecError::Stopped);
    }

    #[test]
    fn streaming_and_fallback_decoders_agree() {
        for (color, channels) in COLORS {
            let file = file(97, 61, color, Filter::Adaptive, &drawn(97, 61, channels));
            let header = measure(&file).unwrap();
            let ours = decode(&file, &header, WHOLE, &Job::unlimited())
                .unwrap()
                .unwrap();
            let theirs = fallback::decode(&file, &header, &Job::unlimited()).unwrap();
            assert_eq!(ours.layout, theirs.layout);
            assert!(ours.data[..] == theirs.data[..], "{color:?}");
        }
    }
}
