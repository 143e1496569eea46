//! Planes that are turned while they are decoded, some rows of MCUs at a time, while these are
//! in the cache.

use std::ops::Range;

use majordomo_image_header::Orientation;

use super::idct::DctScale;
use super::markers::Frame;
use super::planes::PlaneSize;
use crate::memory::Buffer;
use crate::picture::{ChromaSize, Layout, Picture, turnable_chroma};
use crate::rotate::{SourceRows, turn_rows};
use crate::{CodecError, Job};

/// Rows of MCUs turned together: 64 rows of luma with 4:2:0, which fill the cache lines of the
/// turned plane.
pub(super) const STRIP: usize = 4;

/// Whether planes can be turned as they are: their chroma needs no other size first.
pub(super) fn is_exact(frame: &Frame, scales: &[DctScale], turn: Orientation) -> bool {
    let mut sizes = (frame.components.iter().zip(scales))
        .map(|(component, scale)| PlaneSize::new(frame, component, *scale, 1))
        .map(|plane| (plane.width as u32, plane.height as u32));
    let Some(luma) = sizes.next() else {
        return false;
    };
    sizes.all(|chroma| {
        chroma.0 <= luma.0 && chroma.1 <= luma.1 && turnable_chroma(luma, chroma, turn) == chroma
    })
}

/// The planes of the upright picture.
pub(super) struct TurnedPlanes {
    turn: Orientation,
    /// As stored, with the rows of one row of MCUs.
    sizes: Vec<PlaneSize>,
    data: Buffer,
}

impl TurnedPlanes {
    pub(super) fn new(
        frame: &Frame,
        scales: &[DctScale],
        turn: Orientation,
        job: &Job,
    ) -> Result<Self, CodecError> {
        let sizes: Vec<PlaneSize> = (frame.components.iter().zip(scales))
            .map(|(component, scale)| PlaneSize::new(frame, component, *scale, 1))
            .collect();
        let bytes = sizes.iter().map(|size| size.width * size.height).sum();
        Ok(Self {
            turn,
            sizes,
            data: job.memory.zeroed(bytes)?,
        })
    }

    /// Takes some rows of MCUs out of padded planes that hold only these.
    pub(super) fn fill(&mut self, planes: &[&mut [u8]], mcu_rows: Range<usize>) {
        let mut rest = &mut self.data[..];
        for (size, plane) in self.sizes.iter().zip(planes) {
            let (out, more) = rest.split_at_mut(size.width * size.height);
            rest = more;
            let row = |mcu_row: usize| (mcu_row * size.rows).min(size.height);
            let source = SourceRows {
                data: plane,
                stride: size.stride,
                rows: row(mcu_rows.start)..row(mcu_rows.end),
                size: (size.width, size.height),
            };
            turn_rows(source, self.turn, out);
        }
    }

    pub(super) fn finish(self) -> Picture {
        let upright = |size: &PlaneSize| {
            let (width, height) = (size.width as u32, size.height as u32);
            self.turn.upright(width, height)
        };
        let (width, height) = upright(&self.sizes[0]);
        let layout = match self.sizes.get(1).map(upright) {
            Some((width, height)) => Layout::YCbCr(ChromaSize { width, height }),
            None => Layout::Gray,
        };
        Picture {
            width,
            height,
            layout,
            data: self.data,
        }
    }
}
