//! JPEG with colour at half resolution, and a cheap look at how large it will be.

use std::io::Write;

use jpeg_encoder::{ColorType, Encoder, ImageBuffer, JpegColorType, SamplingFactor};

use crate::picture::{Chroma, Layout, Picture, Plane};

/// Rows of one row of blocks.
const BLOCK_ROWS: u32 = 16;
/// One row of blocks in so many is looked at.
const STRIDE: u32 = 6;
/// Bytes of the header and the tables, which every file has.
const TABLES: u64 = 620;

pub(super) fn encode(picture: &Picture, quality: u8, out: &mut impl Write) -> Option<()> {
    #[cfg(feature = "turbo")]
    if let Some(data) = super::turbo::encode(picture, quality) {
        return out.write_all(&data).ok();
    }
    encode_purely(picture, quality, out)
}

/// In pure Rust.
pub(super) fn encode_purely(picture: &Picture, quality: u8, out: &mut impl Write) -> Option<()> {
    let width = u16::try_from(picture.width).ok()?;
    let height = u16::try_from(picture.height).ok()?;
    let mut encoder = Encoder::new(out, quality);
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    let color = match picture.layout {
        Layout::Gray => ColorType::Luma,
        Layout::Rgb => ColorType::Rgb,
        Layout::Rgbx | Layout::Rgba => ColorType::Rgba,
        Layout::Planes(_) => {
            let planes = picture.planes()?;
            return encoder
                .encode_image(Rows {
                    planes,
                    width,
                    height,
                })
                .ok();
        }
    };
    encoder.encode(&picture.data, width, height, color).ok()
}

/// About how many bytes the picture takes at this quality.
///
/// Rows of blocks are coded one by one, so a sixth of them tells the size of
/// all within a few percent, at a sixth of the cost.
pub(crate) fn sample(picture: &Picture, quality: u8) -> Option<u64> {
    let blocks = picture.height.div_ceil(BLOCK_ROWS);
    let sampled = blocks.div_ceil(STRIDE);
    let mut out = Vec::new();
    encode(&sampled_rows(picture, sampled)?, quality, &mut out)?;
    let body = (out.len() as u64).saturating_sub(TABLES);
    Some(body * u64::from(blocks) / u64::from(sampled) + TABLES)
}

/// A picture of one row of blocks out of each group; its middle stands for it.
fn sampled_rows(picture: &Picture, sampled: u32) -> Option<Picture> {
    let height = sampled * BLOCK_ROWS;
    let source = |row: u32| {
        let block = row / BLOCK_ROWS * STRIDE + STRIDE / 2;
        (block * BLOCK_ROWS + row % BLOCK_ROWS).min(picture.height - 1)
    };
    let mut data = Vec::new();
    let mut layout = picture.layout;
    if let Some([y, cb, cr]) = picture.planes() {
        for row in 0..height {
            data.extend_from_slice(y.row_beside(source(row), &y));
        }
        for plane in [cb, cr] {
            for row in (0..height).step_by(2) {
                data.extend_from_slice(plane.row_beside(source(row), &y));
            }
        }
        layout = Layout::Planes(Chroma {
            width: cb.width,
            height: height / 2,
        });
    } else {
        let length = picture.width as usize * picture.layout.packed()?;
        for row in 0..height {
            let start = source(row) as usize * length;
            data.extend_from_slice(picture.data.get(start..start + length)?);
        }
    }
    Some(Picture {
        width: picture.width,
        height,
        layout,
        data,
    })
}

/// Planes as the encoder asks for them, row by row.
struct Rows<'a> {
    planes: [Plane<'a>; 3],
    width: u16,
    height: u16,
}

impl ImageBuffer for Rows<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let width = usize::from(self.width);
        for (plane, out) in self.planes.iter().zip(buffers) {
            let row = plane.row_beside(u32::from(y), &self.planes[0]);
            stretch(row, width, out);
        }
    }
}

/// A colour row at full width; the encoder averages it back.
fn stretch(row: &[u8], width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    if row.len() == width {
        out.extend_from_slice(row);
    } else if row.len() == width.div_ceil(2) {
        out.resize(start + row.len() * 2, 0);
        let pairs = out[start..].as_chunks_mut::<2>().0;
        for (pair, value) in pairs.iter_mut().zip(row) {
            *pair = [*value; 2];
        }
        out.truncate(start + width);
    } else {
        let last = row.len() - 1;
        out.extend((0..width).map(|x| row[(x * row.len() / width).min(last)]));
    }
}
