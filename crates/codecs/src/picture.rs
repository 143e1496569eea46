//! Decoded pictures: 8-bit samples in the layout that is cheapest to process.

use majordomo_image_header::Orientation;

use crate::memory::Buffer;
use crate::plane::{PIECE, Plane, subsampling};
use crate::rotate::apply_orientation;
use crate::{CodecError, Job};

/// Columns of an interleaved row that are converted at once.
const PART: usize = 64 << 10;

/// The layout of a picture's samples.
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
#[derive(Debug)]
pub struct Picture {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// The layout of `data`.
    pub layout: Layout,
    /// Rows from top to bottom, without padding.
    pub data: Buffer,
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

    /// Converts a planar picture to interleaved RGB; `None` if it is interleaved.
    pub fn to_interleaved(&self, job: &Job) -> Result<Option<Self>, CodecError> {
        if self.planes().is_none() {
            return Ok(None);
        }
        let row_bytes = self.width as usize * 3;
        let mut data = job.memory.zeroed(row_bytes * self.height as usize)?;
        for (row, out) in (0..).zip(data.chunks_exact_mut(row_bytes)) {
            job.check()?;
            self.rgb_row(row, out);
        }
        Ok(Some(Self {
            width: self.width,
            height: self.height,
            layout: Layout::Rgb,
            data,
        }))
    }

    /// Writes one row as interleaved RGB; nothing if the picture has alpha.
    ///
    /// Subsampled chroma is interpolated.
    pub(crate) fn rgb_row(&self, row: u32, out: &mut [u8]) {
        if let Some([y, cb, cr]) = self.planes() {
            return planar_rgb_row([y, cb, cr], row as usize, out);
        }
        self.rgb_columns(row, 0, out);
    }

    /// The columns that [`rgb_part`](Self::rgb_part) converts at once, a multiple of 8 unless it
    /// is a whole row. An interleaved row may have millions of columns.
    pub(crate) fn part_columns(&self) -> usize {
        match self.layout {
            Layout::YCbCr(_) => self.width as usize,
            _ => PART.min(self.width as usize),
        }
    }

    /// Writes a part of a row that starts at this column, a multiple of `part_columns`, like
    /// [`rgb_row`](Self::rgb_row).
    pub(crate) fn rgb_part(&self, row: u32, column: usize, out: &mut [u8]) {
        match self.layout {
            Layout::YCbCr(_) => self.rgb_row(row, out),
            _ => self.rgb_columns(row, column, out),
        }
    }

    fn rgb_columns(&self, row: u32, column: usize, out: &mut [u8]) {
        let out = out.as_chunks_mut::<3>().0;
        let width = out.len();
        let start = row as usize * self.width as usize + column;
        match self.layout {
            Layout::Gray => {
                let values = &self.data[start..start + width];
                for (out, value) in out.iter_mut().zip(values) {
                    *out = [*value; 3];
                }
            }
            Layout::Rgb => {
                let row = &self.data[start * 3..(start + width) * 3];
                out.copy_from_slice(row.as_chunks().0);
            }
            Layout::Rgbx => {
                let row = &self.data[start * 4..(start + width) * 4];
                for (out, &[r, g, b, _]) in out.iter_mut().zip(row.as_chunks::<4>().0) {
                    *out = [r, g, b];
                }
            }
            Layout::Rgba | Layout::YCbCr(_) => {}
        }
    }

    /// Applies an EXIF orientation.
    pub fn oriented(&self, orientation: Orientation, job: &Job) -> Result<Self, CodecError> {
        let (width, height) = orientation.upright(self.width, self.height);
        let (layout, data) = match (self.layout, self.planes()) {
            (Layout::YCbCr(_), Some(planes)) => self.oriented_planes(planes, orientation, job)?,
            _ => {
                let pixel = self.layout.bytes_per_pixel().unwrap_or(4);
                let size = (self.width as usize, self.height as usize);
                let mut data = job.memory.zeroed(size.0 * size.1 * pixel)?;
                match pixel {
                    1 => apply_orientation::<1>(&self.data, size, orientation, &mut data, job)?,
                    3 => apply_orientation::<3>(&self.data, size, orientation, &mut data, job)?,
                    _ => apply_orientation::<4>(&self.data, size, orientation, &mut data, job)?,
                }
                (self.layout, data)
            }
        };
        Ok(Self {
            width,
            height,
            layout,
            data,
        })
    }

    /// A mirrored picture of odd length would pair its luma with the wrong chroma samples, so
    /// chroma is first interpolated to full length.
    fn oriented_planes(
        &self,
        [y, cb, cr]: [Plane<'_>; 3],
        orientation: Orientation,
        job: &Job,
    ) -> Result<(Layout, Buffer), CodecError> {
        let stored = turnable_chroma((y.width, y.height), (cb.width, cb.height), orientation);
        let luma = pixel_count(y.width, y.height);
        let color = pixel_count(stored.0, stored.1);
        let mut data = job.memory.zeroed(luma + 2 * color)?;
        let (luma_out, colors_out) = data.split_at_mut(luma);
        let size = (y.width as usize, y.height as usize);
        apply_orientation::<1>(y.data, size, orientation, luma_out, job)?;
        for (plane, out) in [cb, cr].into_iter().zip(colors_out.chunks_exact_mut(color)) {
            let size = (stored.0 as usize, stored.1 as usize);
            if stored == (plane.width, plane.height) {
                apply_orientation::<1>(plane.data, size, orientation, out, job)?;
                continue;
            }
            // Only the axes that are mirrored and odd are interpolated here.
            let mut finer = job.memory.zeroed(color)?;
            for (row, out) in finer.chunks_exact_mut(size.0).enumerate() {
                plane.interpolate_row(row, stored, out);
            }
            apply_orientation::<1>(&finer, size, orientation, out, job)?;
        }
        let (width, height) = orientation.upright(stored.0, stored.1);
        Ok((Layout::YCbCr(ChromaSize { width, height }), data))
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
        const WINDOW: usize = 1024;
        const MAX_WINDOWS: usize = 64;
        let step = (self.height as usize / 64).max(1);
        let rows = self.data.as_chunks::<PIXEL>().0;
        let rows = rows.chunks_exact((self.width as usize).max(1));
        let (mut same, mut all) = (0, 0);
        for row in rows.take(self.height as usize).step_by(step) {
            // In a long row, only some windows are examined.
            let apart = (row.len() / MAX_WINDOWS / WINDOW).max(1);
            for window in row.chunks(WINDOW).step_by(apart) {
                let right = window.get(1..).unwrap_or_default();
                all += right.len();
                same += window.iter().zip(right).filter(|(a, b)| a == b).count();
            }
        }
        same * 2 > all
    }
}

pub(crate) fn pixel_count(width: u32, height: u32) -> usize {
    width as usize * height as usize
}

/// The size to which chroma planes are interpolated before they are turned: longer only along
/// an axis that is mirrored and where luma would change its chroma samples.
pub(crate) fn turnable_chroma(
    luma: (u32, u32),
    chroma: (u32, u32),
    orientation: Orientation,
) -> (u32, u32) {
    let (mirror_columns, mirror_rows) = match orientation.transpose {
        true => (orientation.mirror_y, orientation.mirror_x),
        false => (orientation.mirror_x, orientation.mirror_y),
    };
    let length = |mirrored: bool, luma: u32, chroma: u32| {
        let exact = subsampling(luma, chroma).is_some_and(|f| (luma as usize).is_multiple_of(f));
        if mirrored && !exact { luma } else { chroma }
    };
    (
        length(mirror_columns, luma.0, chroma.0),
        length(mirror_rows, luma.1, chroma.1),
    )
}

/// Converts a row of planes to interleaved RGB, in pieces that stay in the L1 cache.
fn planar_rgb_row([y, cb, cr]: [Plane<'_>; 3], row: usize, out: &mut [u8]) {
    let size = (y.width, y.height);
    let luma = y.row(row as u32);
    let out = out.as_chunks_mut::<3>().0;
    if (cb.width, cb.height) == size {
        let chroma = cb.row(row as u32).iter().zip(cr.row(row as u32));
        for ((out, y), (cb, cr)) in out.iter_mut().zip(luma).zip(chroma) {
            *out = ycbcr_to_rgb(*y, *cb, *cr);
        }
        return;
    }
    let (mut blue, mut red) = ([0; PIECE], [0; PIECE]);
    for (piece, (out, luma)) in out.chunks_mut(PIECE).zip(luma.chunks(PIECE)).enumerate() {
        let (blue, red) = (&mut blue[..luma.len()], &mut red[..luma.len()]);
        cb.interpolate_piece(row, piece * PIECE, size, blue);
        cr.interpolate_piece(row, piece * PIECE, size, red);
        for ((out, y), (cb, cr)) in out.iter_mut().zip(luma).zip(blue.iter().zip(red)) {
            *out = ycbcr_to_rgb(*y, *cb, *cr);
        }
    }
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
