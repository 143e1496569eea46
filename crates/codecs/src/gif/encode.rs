//! One frame with a palette of at most 256 colours.

use std::collections::BTreeSet;
use std::io::Write;

use gif::{Encoder, Frame};

use crate::Stop;
use crate::picture::{Layout, Picture};

/// Entries of a colour table.
const MAX_COLORS: usize = 256;
/// Speed of the colour quantizer, from 1 (best) to 30 (fastest).
const SPEED: i32 = 10;
/// Pixels sampled for the palette.
const SAMPLE: usize = 1 << 20;
/// Slots of the cache from colour to palette index.
const CACHE_SLOTS: usize = 1 << 16;

type Color = [u8; 3];

pub(crate) fn encode(picture: &Picture, stop: &Stop, out: &mut impl Write) -> Option<()> {
    let width = u16::try_from(picture.width).ok()?;
    let height = u16::try_from(picture.height).ok()?;
    let picture = picture.to_interleaved();
    let has_transparency = pixels(&picture).any(|color| color.is_none());
    // One entry is reserved for transparency.
    let capacity = MAX_COLORS - usize::from(has_transparency);
    let colors = match exact_palette(&picture, capacity, stop) {
        Some(colors) => colors,
        None => quantized_palette(&picture, capacity)?,
    };
    let mut palette = Palette::new(colors);
    let mut indices = Vec::with_capacity(usize::from(width) * usize::from(height));
    for (at, color) in pixels(&picture).enumerate() {
        if at.is_multiple_of(1024) {
            stop.check().ok()?;
        }
        indices.push(match color {
            Some(color) => palette.nearest(color),
            None => palette.colors.len() as u8,
        });
    }
    let transparent = has_transparency.then_some(palette.colors.len() as u8);
    let mut colors = palette.colors.concat();
    colors.extend(transparent.iter().flat_map(|_| [0; 3]));
    let frame = Frame::from_palette_pixels(width, height, indices, colors, transparent);
    let mut encoder = Encoder::new(out, width, height, &[]).ok()?;
    encoder.write_frame(&frame).ok()?;
    encoder.into_inner().ok()?;
    Some(())
}

/// The colour of each pixel; `None` if it is transparent.
fn pixels(picture: &Picture) -> impl Iterator<Item = Option<Color>> {
    let layout = picture.layout;
    let pixels = picture
        .data
        .chunks_exact(layout.bytes_per_pixel().unwrap_or(1));
    pixels.map(move |pixel| match (layout, pixel) {
        (Layout::Rgba, [.., 0]) => None,
        (_, &[r, g, b, ..]) => Some([r, g, b]),
        _ => Some([pixel[0]; 3]),
    })
}

/// All colours of the picture, if they fit the palette.
fn exact_palette(picture: &Picture, capacity: usize, stop: &Stop) -> Option<Vec<Color>> {
    let (mut colors, mut last) = (BTreeSet::new(), None);
    for (at, color) in pixels(picture).enumerate() {
        if at.is_multiple_of(1024) {
            stop.check().ok()?;
        }
        if color != last {
            colors.extend(color);
            last = color;
        }
        if colors.len() > capacity {
            return None;
        }
    }
    Some(colors.into_iter().collect())
}

/// A palette quantized from pixels sampled across the picture.
fn quantized_palette(picture: &Picture, capacity: usize) -> Option<Vec<Color>> {
    let seen = || pixels(picture).flatten();
    let sample = seen().step_by(seen().count().div_ceil(SAMPLE).max(1));
    let mut sample: Vec<u8> = sample.flat_map(|[r, g, b]| [r, g, b, 255]).collect();
    let height = sample.len() / 4 / MAX_COLORS;
    sample.truncate(height * MAX_COLORS * 4);
    let (width, height) = (MAX_COLORS as u16, u16::try_from(height).ok()?);
    let palette = Frame::from_rgba_speed(width, height, &mut sample, SPEED).palette?;
    let colors = palette.as_chunks().0;
    Some(colors[..colors.len().min(capacity)].to_vec())
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

/// The index of the nearest colour, the first of equals.
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

    /// Encodes a picture and decodes it again.
    fn read_back(picture: &Picture) -> Vec<u8> {
        let mut file = Vec::new();
        encode(picture, &Stop::new(), &mut file).unwrap();
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
            data: data.collect(),
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
        let stop = Stop::new();
        stop.stop();
        let mut file = Vec::new();
        assert!(encode(&picture(700, Layout::Rgb), &stop, &mut file).is_none());
        assert!(file.is_empty());
    }
}
