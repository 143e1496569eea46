//! Palettes of pictures with few colours, which take a third of the bytes or less.

use std::collections::BTreeMap;

use png::BitDepth;

use crate::picture::{Layout, Picture};
use crate::{CodecError, Job};

/// Entries of a palette.
const MAX_COLORS: usize = 256;

/// All colours of an opaque picture.
pub(super) struct Palette {
    pub(super) colors: Vec<[u8; 3]>,
    places: BTreeMap<[u8; 3], u8>,
}

impl Palette {
    /// `None` if there are more colours than entries, or transparency, or gray at 8 bits
    /// would be as small.
    pub(super) fn of(picture: &Picture, job: &Job) -> Result<Option<Self>, CodecError> {
        if picture.layout == Layout::Rgba {
            return Ok(None);
        }
        let mut places = BTreeMap::new();
        let (width, columns) = (picture.width as usize, picture.part_columns());
        let mut rgb = job.memory.zeroed(columns * 3)?;
        for row in 0..picture.height {
            for column in (0..width).step_by(columns) {
                job.check()?;
                let rgb = &mut rgb[..columns.min(width - column) * 3];
                picture.rgb_part(row, column, rgb);
                let mut last = None;
                for color in rgb.as_chunks::<3>().0 {
                    if last != Some(color) {
                        places.insert(*color, 0);
                        last = Some(color);
                    }
                }
                if places.len() > MAX_COLORS {
                    return Ok(None);
                }
            }
        }
        if places.len() > 16 && places.keys().all(|[r, g, b]| r == g && g == b) {
            return Ok(None);
        }
        for (place, index) in places.values_mut().zip(0..=u8::MAX) {
            *place = index;
        }
        Ok(Some(Self {
            colors: places.keys().copied().collect(),
            places,
        }))
    }

    /// The fewest bits that hold an index.
    pub(super) fn depth(&self) -> BitDepth {
        match self.colors.len() {
            0..=2 => BitDepth::One,
            3..=4 => BitDepth::Two,
            5..=16 => BitDepth::Four,
            _ => BitDepth::Eight,
        }
    }

    /// Replaces a row of pixels, or a part of it that starts at a whole byte, with packed indices
    /// at its front; returns their length.
    pub(super) fn pack(&self, row: &mut [u8]) -> usize {
        let bits = self.depth() as usize;
        let count = row.len() / 3;
        let mut last = ([0; 3], self.places.get(&[0; 3]).copied().unwrap_or(0));
        let mut byte = 0;
        for at in 0..count {
            let color = [row[at * 3], row[at * 3 + 1], row[at * 3 + 2]];
            if color != last.0 {
                last = (color, self.places.get(&color).copied().unwrap_or(0));
            }
            let place = at * bits % 8;
            byte |= last.1 << (8 - bits - place);
            if place + bits == 8 || at + 1 == count {
                row[at * bits / 8] = byte;
                byte = 0;
            }
        }
        (count * bits).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chroma, Encoding, SizeHint, decode, encode};
    use majordomo_image_header::measure;

    #[test]
    fn few_colours_are_written_with_the_fewest_bits_and_read_back_exactly() {
        for (colors, depth, channels) in
            [(2, 1, 1), (3, 2, 1), (16, 4, 1), (200, 8, 1), (300, 8, 3)]
        {
            let pixels = (0..97 * 61_u32).map(|at| at * 31 % colors);
            let data: Vec<u8> = pixels
                .flat_map(|color| [(color % 256) as u8, (color / 2) as u8, 7])
                .collect();
            let picture = Picture {
                width: 97,
                height: 61,
                layout: Layout::Rgb,
                data: data.clone().into(),
            };
            let job = Job::unlimited();
            let file = encode(&picture, Encoding::Png, None, &job)
                .unwrap()
                .unwrap();
            let header = measure(&file).unwrap();
            let found = (header.bit_depth, header.channels);
            assert_eq!(found, (depth, channels), "{colors} colours");
            let back = decode(
                &file,
                &header,
                SizeHint::AtLeast((97, 61)),
                Chroma::Half,
                &job,
            )
            .unwrap();
            assert_eq!(back.layout, Layout::Rgb);
            assert!(back.data[..] == data, "{colors} colours");
        }
    }
}
