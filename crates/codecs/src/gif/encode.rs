//! One frame with a palette of at most 256 colours.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;

use gif::{Encoder, Frame};
use weezl::encode::Encoder as LzwEncoder;
use weezl::{BitOrder, LzwStatus};

use crate::memory::Buffer;
use crate::picture::{Layout, Picture, pixel_count};
use crate::{CodecError, Job};

/// Entries of a colour table.
const MAX_COLORS: usize = 256;
/// Speed of the colour quantizer, from 1 (best) to 30 (fastest).
const SPEED: i32 = 10;
/// Pixels sampled for the palette.
const SAMPLE: usize = 1 << 18;
/// Slots of the cache from colour to palette index.
const CACHE_SLOTS: usize = 1 << 16;

/// Indices compressed between two polls of the stop flag.
const LZW_STEP: usize = 64 << 10;

type Color = [u8; 3];

pub(crate) fn encode(picture: &Picture, job: &Job, out: &mut impl Write) -> Result<(), CodecError> {
    let failed = |_| CodecError::Failed;
    let width = u16::try_from(picture.width).map_err(|_| CodecError::Failed)?;
    let height = u16::try_from(picture.height).map_err(|_| CodecError::Failed)?;
    let has_transparency = has_transparency(picture, job)?;
    // One entry is reserved for transparency.
    let capacity = MAX_COLORS - usize::from(has_transparency);
    let colors = match exact_palette(picture, capacity, job)? {
        Some(colors) => colors,
        None => quantized_palette(picture, capacity, job)?,
    };
    let mut palette = Palette::new(colors);
    let transparent = has_transparency.then_some(palette.colors.len() as u8);
    let pixels = pixel_count(picture.width, picture.height);
    let mut indices = job.memory.with_room(pixels)?;
    for_each_row(picture, job, |row| {
        for color in row {
            indices.append(&[match color {
                Some(color) => palette.nearest(*color),
                None => transparent.unwrap_or(0),
            }])?;
        }
        Ok(())
    })?;
    let mut colors = palette.colors.concat();
    colors.extend(transparent.iter().flat_map(|_| [0; 3]));
    let compressed = compress(&indices, colors.len() / 3, job)?;
    drop(indices);
    let frame = Frame {
        width,
        height,
        palette: Some(colors),
        transparent,
        buffer: Cow::Borrowed(&compressed),
        ..Frame::default()
    };
    let mut encoder = Encoder::new(out, width, height, &[]).map_err(failed)?;
    encoder
        .write_lzw_pre_encoded_frame(&frame)
        .map_err(failed)?;
    encoder.into_inner().map_err(|_| CodecError::Failed)?;
    Ok(())
}

/// Whether a pixel is transparent; partly transparent ones become opaque.
fn has_transparency(picture: &Picture, job: &Job) -> Result<bool, CodecError> {
    if picture.layout != Layout::Rgba {
        return Ok(false);
    }
    for pixels in picture.data.as_chunks::<4>().0.chunks(LZW_STEP) {
        job.check()?;
        if pixels.iter().any(|pixel| pixel[3] == 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The minimum code size and the LZW codes of the indices, in steps that can be stopped.
fn compress(indices: &[u8], colors: usize, job: &Job) -> Result<Buffer, CodecError> {
    // At least two bits (GIF89a, Appendix F).
    let code_size = colors.max(4).next_power_of_two().trailing_zeros() as u8;
    let mut encoder = LzwEncoder::new(BitOrder::Lsb, code_size);
    let mut compressed = job.memory.with_room(LZW_STEP)?;
    compressed.append(&[code_size])?;
    let mut codes = [0; LZW_STEP];
    let mut rest = indices;
    loop {
        job.check()?;
        let step = &rest[..rest.len().min(LZW_STEP)];
        if step.len() == rest.len() {
            encoder.finish();
        }
        let done = encoder.encode_bytes(step, &mut codes);
        compressed.append(&codes[..done.consumed_out])?;
        rest = &rest[done.consumed_in..];
        match done.status.map_err(|_| CodecError::Failed)? {
            LzwStatus::Done => return Ok(compressed),
            LzwStatus::Ok => {}
            LzwStatus::NoProgress => return Err(CodecError::Failed),
        }
    }
}

/// Calls `take` with the colours of each row; `None` is a transparent pixel.
fn for_each_row(
    picture: &Picture,
    job: &Job,
    mut take: impl FnMut(&[Option<Color>]) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    let width = picture.width as usize;
    let mut rgb = job.memory.zeroed(width * 3)?;
    let mut row_colors = job.memory.zeroed::<Option<Color>>(width)?;
    for row in 0..picture.height {
        job.check()?;
        if picture.layout == Layout::Rgba {
            let start = row as usize * width;
            let pixels = &picture.data.as_chunks::<4>().0[start..start + width];
            for (color, &[r, g, b, a]) in row_colors.iter_mut().zip(pixels) {
                *color = (a > 0).then_some([r, g, b]);
            }
        } else {
            picture.rgb_row(row, &mut rgb);
            for (color, pixel) in row_colors.iter_mut().zip(rgb.as_chunks().0) {
                *color = Some(*pixel);
            }
        }
        take(&row_colors)?;
    }
    Ok(())
}

/// All colours of the picture, if they fit the palette.
fn exact_palette(
    picture: &Picture,
    capacity: usize,
    job: &Job,
) -> Result<Option<Vec<Color>>, CodecError> {
    let (mut colors, mut last) = (BTreeSet::new(), None);
    for_each_row(picture, job, |row| {
        for color in row {
            if *color != last && colors.len() <= capacity {
                colors.extend(*color);
                last = *color;
            }
        }
        Ok(())
    })?;
    Ok((colors.len() <= capacity).then(|| colors.into_iter().collect()))
}

/// A palette quantized from pixels sampled across the picture.
fn quantized_palette(
    picture: &Picture,
    capacity: usize,
    job: &Job,
) -> Result<Vec<Color>, CodecError> {
    let step = pixel_count(picture.width, picture.height)
        .div_ceil(SAMPLE)
        .max(1);
    let mut sample = job.memory.with_room::<u8>(SAMPLE * 4)?;
    let mut at = 0;
    for_each_row(picture, job, |row| {
        while let Some(color) = row.get(at) {
            if let Some([r, g, b]) = color {
                sample.append(&[*r, *g, *b, 255])?;
            }
            at += step;
        }
        at -= row.len();
        Ok(())
    })?;
    let height = sample.len() / 4 / MAX_COLORS;
    sample.truncate(height * MAX_COLORS * 4);
    let (width, height) = (MAX_COLORS as u16, height as u16);
    // The quantizer's copy of the sample.
    let _copy = job.memory.reserve(SAMPLE * 4)?;
    let palette = Frame::from_rgba_speed(width, height, &mut sample, SPEED).palette;
    let palette = palette.ok_or(CodecError::Failed)?;
    let colors = palette.as_chunks().0;
    Ok(colors[..colors.len().min(capacity)].to_vec())
}

/// A palette with a cache of lookups.
struct Palette {
    colors: Vec<Color>,
    /// The palette by channel, for SIMD comparison; unused entries repeat the first.
    channels: [[u8; MAX_COLORS]; 3],
    cache: Vec<Option<(Color, u8)>>,
}

impl Palette {
    fn new(colors: Vec<Color>) -> Self {
        let color = |place: usize| colors.get(place).or(colors.first()).copied();
        let channel = |channel: usize| {
            std::array::from_fn(|place| color(place).map_or(0, |color| color[channel]))
        };
        Self {
            channels: [0, 1, 2].map(channel),
            colors,
            cache: vec![None; CACHE_SLOTS],
        }
    }

    fn nearest(&mut self, color: Color) -> u8 {
        let [r, g, b] = color.map(usize::from);
        let cache = &mut self.cache[(r << 8 ^ g << 4 ^ b) % CACHE_SLOTS];
        match cache {
            Some((key, place)) if *key == color => *place,
            _ => {
                let place = nearest(&self.channels, color);
                *cache = Some((color, place));
                place
            }
        }
    }
}

/// The index of the nearest colour; the first one if several are equally near.
fn nearest([r, g, b]: &[[u8; MAX_COLORS]; 3], color: Color) -> u8 {
    let apart = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    let mut far = [0_u32; MAX_COLORS];
    for (place, far) in far.iter_mut().enumerate() {
        let distance = apart(r[place], color[0]) + apart(g[place], color[1]);
        // The index in the low byte identifies the minimum.
        *far = (distance + apart(b[place], color[2])) << 8 | place as u32;
    }
    far.into_iter().min().map_or(0, |least| least as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colour of each pixel; `None` if it is transparent.
    fn pixels(picture: &Picture) -> Vec<Option<Color>> {
        let mut all = Vec::new();
        for_each_row(picture, &Job::unlimited(), |row| {
            all.extend_from_slice(row);
            Ok(())
        })
        .unwrap();
        all
    }

    /// Encodes a picture and decodes it again.
    fn read_back(picture: &Picture) -> Vec<u8> {
        let mut file = Vec::new();
        encode(picture, &Job::unlimited(), &mut file).unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&file[..]).unwrap();
        decoder.read_next_frame().unwrap().unwrap().buffer.to_vec()
    }

    fn picture(colors: u32, layout: Layout) -> Picture {
        let (width, height) = (64, 48);
        let data = (0..width * height).flat_map(|at| {
            let color = at * 7 % colors;
            let alpha = if at % 5 == 0 { 0 } else { 255 };
            let [r, g, b] = [color % 16 * 16, color / 16 * 4, color / 3].map(|v| v as u8);
            [r, g, b, alpha]
                .into_iter()
                .take(layout.bytes_per_pixel().unwrap())
        });
        Picture {
            width,
            height,
            layout,
            data: data.collect::<Vec<u8>>().into(),
        }
    }

    #[test]
    fn colours_that_fit_the_palette_stay_exact() {
        for (colors, layout) in [(256, Layout::Rgb), (2, Layout::Rgb), (255, Layout::Rgba)] {
            let picture = picture(colors, layout);
            let found = read_back(&picture);
            for (found, wanted) in found.as_chunks::<4>().0.iter().zip(pixels(&picture)) {
                match wanted {
                    Some(color) => assert_eq!(*found, [color[0], color[1], color[2], 255]),
                    None => assert_eq!(found[3], 0),
                }
            }
        }
    }

    #[test]
    fn surplus_colours_become_similar_ones_and_transparency_is_kept() {
        for layout in [Layout::Rgb, Layout::Rgba] {
            let picture = picture(700, layout);
            let found = read_back(&picture);
            for (found, wanted) in found.as_chunks::<4>().0.iter().zip(pixels(&picture)) {
                let Some(color) = wanted else {
                    assert_eq!(found[3], 0);
                    continue;
                };
                assert_eq!(found[3], 255);
                let near = |(a, b): (&u8, u8)| a.abs_diff(b) < 40;
                assert!(found.iter().zip(color).all(near), "{found:?} {color:?}");
            }
        }
    }

    #[test]
    fn a_stopped_encoder_writes_nothing() {
        let job = Job::unlimited();
        job.stop.stop();
        let mut file = Vec::new();
        assert!(encode(&picture(700, Layout::Rgb), &job, &mut file).is_err());
        assert!(file.is_empty());
    }
}
