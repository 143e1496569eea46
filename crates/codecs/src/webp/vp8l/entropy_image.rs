//! Entropy-coded images: literals, backward references and cached colours (sections 3.5.2,
//! 3.6 and 3.7).

use super::bits::BitReader;
use super::color_cache::ColorCache;
use super::prefix_code::{CodeTables, PrefixCode};
use super::{Pixel, blocks};
use crate::memory::Buffer;
use crate::webp::decode::DAMAGED;
use crate::{CodecError, Job};

/// Symbols of the green alphabet: literals, then lengths, then cached colours.
const LITERALS: usize = 256;
const LENGTHS: usize = 24;
const DISTANCES: usize = 40;
/// Pixels between two polls of the stop flag.
const POLL: usize = 16 << 10;

/// Columns and rows of the 120 nearest pixels, by distance code.
#[rustfmt::skip]
const NEIGHBOURS: [(i8, i8); 120] = [
    (0, 1), (1, 0), (1, 1), (-1, 1), (0, 2), (2, 0), (1, 2), (-1, 2), (2, 1), (-2, 1), (2, 2),
    (-2, 2), (0, 3), (3, 0), (1, 3), (-1, 3), (3, 1), (-3, 1), (2, 3), (-2, 3), (3, 2), (-3, 2),
    (0, 4), (4, 0), (1, 4), (-1, 4), (4, 1), (-4, 1), (3, 3), (-3, 3), (2, 4), (-2, 4), (4, 2),
    (-4, 2), (0, 5), (3, 4), (-3, 4), (4, 3), (-4, 3), (5, 0), (1, 5), (-1, 5), (5, 1), (-5, 1),
    (2, 5), (-2, 5), (5, 2), (-5, 2), (4, 4), (-4, 4), (3, 5), (-3, 5), (5, 3), (-5, 3), (0, 6),
    (6, 0), (1, 6), (-1, 6), (6, 1), (-6, 1), (2, 6), (-2, 6), (6, 2), (-6, 2), (4, 5), (-4, 5),
    (5, 4), (-5, 4), (3, 6), (-3, 6), (6, 3), (-6, 3), (0, 7), (7, 0), (1, 7), (-1, 7), (5, 5),
    (-5, 5), (7, 1), (-7, 1), (4, 6), (-4, 6), (6, 4), (-6, 4), (2, 7), (-2, 7), (7, 2), (-7, 2),
    (3, 7), (-3, 7), (7, 3), (-7, 3), (5, 6), (-5, 6), (6, 5), (-6, 5), (8, 0), (4, 7), (-4, 7),
    (7, 4), (-7, 4), (8, 1), (8, 2), (6, 6), (-6, 6), (8, 3), (5, 7), (-5, 7), (7, 5), (-7, 5),
    (8, 4), (6, 7), (-6, 7), (7, 6), (-7, 6), (8, 5), (7, 7), (-7, 7), (8, 6), (8, 7),
];

/// The five codes of a region.
#[derive(Clone, Copy, Default)]
struct CodeGroup {
    green: PrefixCode,
    red: PrefixCode,
    blue: PrefixCode,
    alpha: PrefixCode,
    distance: PrefixCode,
}

/// Which group of codes a pixel uses.
struct Regions {
    bits: u32,
    /// Regions per row.
    across: usize,
    groups: Buffer<u16>,
}

/// Decodes an image into `out`. Only the main image has regions with separate codes.
pub(super) fn decode_pixels(
    bits: &mut BitReader<'_>,
    (width, height): (usize, usize),
    is_main: bool,
    out: &mut [Pixel],
    job: &Job,
) -> Result<(), CodecError> {
    let mut cache = match bits.read(1) {
        1 => Some(ColorCache::new(bits.read(4)).ok_or(DAMAGED)?),
        _ => None,
    };
    let regions = match is_main && bits.read(1) == 1 {
        true => Some(read_regions(bits, (width, height), job)?),
        false => None,
    };
    let last = regions
        .as_ref()
        .and_then(|regions| regions.groups.iter().max());
    let count = last.map_or(1, |last| usize::from(*last) + 1);
    let mut tables = CodeTables::new(job)?;
    let mut groups = job.memory.with_room::<CodeGroup>(count)?;
    let greens = LITERALS + LENGTHS + cache.as_ref().map_or(0, |cache| cache.size());
    for _ in 0..count {
        job.check()?;
        groups.append(&[CodeGroup {
            green: tables.read(bits, greens)?,
            red: tables.read(bits, LITERALS)?,
            blue: tables.read(bits, LITERALS)?,
            alpha: tables.read(bits, LITERALS)?,
            distance: tables.read(bits, DISTANCES)?,
        }])?;
    }
    let mut at = 0;
    let mut polled = 0;
    let (mut group, mut region_end) = (groups[0], 0);
    while at < out.len() {
        if let Some(regions) = &regions
            && at >= region_end
        {
            let (x, y) = (at % width, at / width);
            let region = (y >> regions.bits) * regions.across + (x >> regions.bits);
            group = groups[usize::from(regions.groups[region])];
            let right = ((x >> regions.bits) + 1) << regions.bits;
            region_end = y * width + right.min(width);
        }
        if at >= polled {
            polled = at + POLL;
            job.check()?;
            bits.check()?;
        }
        bits.refill();
        let symbol = tables.decode(group.green, bits);
        if symbol < LITERALS {
            let red = tables.decode(group.red, bits) as u8;
            let blue = tables.decode(group.blue, bits) as u8;
            bits.refill();
            let alpha = tables.decode(group.alpha, bits) as u8;
            out[at] = [red, symbol as u8, blue, alpha];
            if let Some(cache) = &mut cache {
                cache.insert(out[at]);
            } else if group.is_constant() {
                // No bits: all pixels up to the end of the region are the same.
                let end = match &regions {
                    Some(_) => region_end,
                    None => out.len(),
                };
                let end = end.min(at + POLL).min(out.len());
                let pixel = out[at];
                out[at..end].fill(pixel);
                at = end - 1;
            }
            at += 1;
        } else if let Some(prefix) = symbol.checked_sub(LITERALS).filter(|p| *p < LENGTHS) {
            let length = read_value(bits, prefix);
            bits.refill();
            let prefix = tables.decode(group.distance, bits);
            let distance = distance(read_value(bits, prefix), width);
            let from = at.checked_sub(distance).ok_or(DAMAGED)?;
            let end = at + length;
            if end > out.len() {
                return Err(DAMAGED);
            }
            copy(out, from, at, length);
            if let Some(cache) = &mut cache {
                for pixel in &out[at..end] {
                    cache.insert(*pixel);
                }
            }
            at = end;
        } else {
            let cache = cache.as_mut().ok_or(DAMAGED)?;
            out[at] = cache.get(symbol - LITERALS - LENGTHS);
            cache.insert(out[at]);
            at += 1;
        }
    }
    bits.check()
}

impl CodeGroup {
    fn is_constant(&self) -> bool {
        let codes = [self.green, self.red, self.blue, self.alpha];
        codes.into_iter().all(PrefixCode::is_trivial)
    }
}

/// Reads the entropy image (section 3.7.2.2).
fn read_regions(
    bits: &mut BitReader<'_>,
    (width, height): (usize, usize),
    job: &Job,
) -> Result<Regions, CodecError> {
    let side = bits.read(3) + 2;
    let (across, down) = (blocks(width, side), blocks(height, side));
    let mut pixels = job.memory.zeroed::<Pixel>(across * down)?;
    decode_pixels(bits, (across, down), false, &mut pixels, job)?;
    let mut groups = job.memory.with_room(pixels.len())?;
    for &[red, green, ..] in &pixels[..] {
        groups.append(&[u16::from_be_bytes([red, green])])?;
    }
    Ok(Regions {
        bits: side,
        across,
        groups,
    })
}

/// A length or distance (section 3.6.2.2): a prefix and extra bits.
#[inline(always)]
fn read_value(bits: &mut BitReader<'_>, prefix: usize) -> usize {
    if prefix < 4 {
        return prefix + 1;
    }
    let extra = (prefix as u32 - 2) >> 1;
    let offset = (2 + (prefix & 1)) << extra;
    offset + bits.read(extra) as usize + 1
}

/// The distance in pixels; small codes name neighbours in two dimensions.
fn distance(code: usize, width: usize) -> usize {
    match NEIGHBOURS.get(code - 1) {
        Some((x, y)) => {
            let distance = i64::from(*x) + i64::from(*y) * width as i64;
            distance.max(1) as usize
        }
        None => code - NEIGHBOURS.len(),
    }
}

/// Copies pixels forward, one after the other.
#[inline(always)]
fn copy(out: &mut [Pixel], from: usize, to: usize, length: usize) {
    if to - from >= length {
        out.copy_within(from..from + length, to);
    } else if to - from == 1 {
        let pixel = out[from];
        out[to..to + length].fill(pixel);
    } else {
        for at in 0..length {
            out[to + at] = out[from + at];
        }
    }
}
