//! Decoded pictures: 8-bit samples in the layout that is cheapest to process.

use std::borrow::Cow;

use majordomo_image_header::Orientation;

use crate::rotate::apply_orientation;

/// How the samples of a picture are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Luma only.
    Gray,
    /// Interleaved red, green, blue.
    Rgb,
    /// Interleaved red, green, blue and an unused byte.
    Rgbx,
    /// Interleaved red, green, blue and straight alpha.
    Rgba,
    /// Planar, full-range YCbCr as in JPEG: Y, then Cb, then Cr.
    YCbCr(ChromaSize),
}

/// The dimensions of the chroma planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChromaSize {
    /// Columns of a chroma plane.
    pub width: u32,
    /// Rows of a chroma plane.
    pub height: u32,
}

/// A decoded picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// How `data` is laid out.
    pub layout: Layout,
    /// Rows from top to bottom, without padding.
    pub data: Vec<u8>,
}

impl Layout {
    /// Bytes per pixel of an interleaved layout.
    pub(crate) fn bytes_per_pixel(self) -> Option<usize> {
        match self {
            Self::Gray => Some(1),
            Self::Rgb => Some(3),
            Self::Rgbx | Self::Rgba => Some(4),
            Self::YCbCr(_) => None,
        }
    }
}

impl Picture {
    /// The planes of a planar picture.
    pub(crate) fn planes(&self) -> Option<[Plane<'_>; 3]> {
        let Layout::YCbCr(chroma) = self.layout else {
            return None;
        };
        let (y, colors) = self
            .data
            .split_at_checked(pixel_count(self.width, self.height))?;
        let (cb, cr) = colors.split_at_checked(pixel_count(chroma.width, chroma.height))?;
        let plane = |width, height, data| Plane {
            width,
            height,
            data,
        };
        Some([
            plane(self.width, self.height, y),
            plane(chroma.width, chroma.height, cb),
            plane(chroma.width, chroma.height, cr),
        ])
    }

    /// Converts a planar picture to interleaved RGB.
    pub fn to_interleaved(&self) -> Cow<'_, Self> {
        let Some([y, cb, cr]) = self.planes() else {
            return Cow::Borrowed(self);
        };
        let mut data = Vec::with_capacity(pixel_count(self.width, self.height) * 3);
        for row in 0..self.height {
            let luma = y.row(row);
            let (blue, red) = (cb.row_aligned_with(row, &y), cr.row_aligned_with(row, &y));
            let step = (u64::from(cb.width) << 32) / u64::from(self.width.max(1));
            let mut at = step / 2;
            for &value in luma {
                let column = ((at >> 32) as usize).min(blue.len() - 1);
                data.extend_from_slice(&ycbcr_to_rgb(value, blue[column], red[column]));
                at += step;
            }
        }
        Cow::Owned(Self {
            width: self.width,
            height: self.height,
            layout: Layout::Rgb,
            data,
        })
    }

    /// Flattens transparency onto white.
    pub fn flatten(&mut self) {
        if self.layout != Layout::Rgba {
            return;
        }
        for [r, g, b, a] in self.data.as_chunks_mut::<4>().0 {
            let alpha = u32::from(*a);
            for channel in [r, g, b] {
                let mixed = u32::from(*channel) * alpha + 255 * (255 - alpha);
                *channel = ((mixed + 127) / 255) as u8;
            }
            *a = 255;
        }
        self.layout = Layout::Rgbx;
    }

    /// Applies an EXIF orientation.
    pub fn oriented(&self, orientation: Orientation) -> Self {
        let (width, height) = orientation.upright(self.width, self.height);
        if let (Layout::YCbCr(chroma), Some(planes)) = (self.layout, self.planes()) {
            let data = planes.map(|plane| {
                let (w, h) = (plane.width as usize, plane.height as usize);
                apply_orientation::<1>(plane.data, w, h, orientation)
            });
            let (cw, ch) = orientation.upright(chroma.width, chroma.height);
            return Self {
                width,
                height,
                layout: Layout::YCbCr(ChromaSize {
                    width: cw,
                    height: ch,
                }),
                data: data.concat(),
            };
        }
        let (w, h) = (self.width as usize, self.height as usize);
        let data = match self.layout.bytes_per_pixel() {
            Some(1) => apply_orientation::<1>(&self.data, w, h, orientation),
            Some(3) => apply_orientation::<3>(&self.data, w, h, orientation),
            _ => apply_orientation::<4>(&self.data, w, h, orientation),
        };
        Self {
            width,
            height,
            layout: self.layout,
            data,
        }
    }

    /// Whether most pixels equal their left neighbour, as in screenshots and diagrams.
    pub fn is_graphic(&self) -> bool {
        match self.layout.bytes_per_pixel() {
            Some(3) => self.is_graphic_by::<3>(),
            Some(4) => self.is_graphic_by::<4>(),
            _ => self.is_graphic_by::<1>(),
        }
    }

    fn is_graphic_by<const PIXEL: usize>(&self) -> bool {
        let step = (self.height as usize / 64).max(1);
        let rows = self.data.as_chunks::<PIXEL>().0;
        let rows = rows.chunks_exact((self.width as usize).max(1));
        let (mut same, mut all) = (0, 0);
        for row in rows.take(self.height as usize).step_by(step) {
            let right = row.get(1..).unwrap_or_default();
            all += right.len();
            same += row.iter().zip(right).filter(|(a, b)| a == b).count();
        }
        same * 2 > all
    }
}

/// One plane of a planar picture.
#[derive(Clone, Copy)]
pub(crate) struct Plane<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) data: &'a [u8],
}

impl<'a> Plane<'a> {
    pub(crate) fn row(&self, row: u32) -> &'a [u8] {
        let width = self.width as usize;
        let start = row.min(self.height - 1) as usize * width;
        &self.data[start..start + width]
    }

    /// The row of this plane at the position of a row of a larger plane.
    pub(crate) fn row_aligned_with(&self, row: u32, larger: &Plane<'_>) -> &'a [u8] {
        let row = u64::from(row) * u64::from(self.height) / u64::from(larger.height);
        self.row(row as u32)
    }
}

pub(crate) fn pixel_count(width: u32, height: u32) -> usize {
    width as usize * height as usize
}

/// The JFIF conversion from YCbCr.
pub(crate) fn ycbcr_to_rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y) << 16, i32::from(cb) - 128, i32::from(cr) - 128);
    let half = 1 << 15;
    [
        y + 91_881 * cr + half,
        y - 22_554 * cb - 46_802 * cr + half,
        y + 116_130 * cb + half,
    ]
    .map(|value| (value >> 16).clamp(0, 255) as u8)
}
