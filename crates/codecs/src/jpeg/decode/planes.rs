//! The planes of a frame, padded to whole MCUs, in one buffer that becomes the picture.

use super::idct::DctScale;
use super::markers::{Frame, FrameComponent};
use crate::memory::Buffer;
use crate::picture::{ChromaSize, Layout, Picture};
use crate::plane::Chroma;
use crate::{CodecError, Job};

/// The position of one component's plane.
pub(super) struct PlaneSize {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Bytes per padded row.
    pub(super) stride: usize,
    /// Padded rows.
    pub(super) rows: usize,
    pub(super) scale: DctScale,
}

impl PlaneSize {
    pub(super) fn new(
        frame: &Frame,
        component: &FrameComponent,
        scale: DctScale,
        mcu_rows: usize,
    ) -> Self {
        Self {
            width: scale.of(frame.samples_across(component)) as usize,
            height: scale.of(frame.samples_down(component)) as usize,
            stride: frame.mcu_cols() * component.h as usize * scale.side(),
            rows: mcu_rows * component.v as usize * scale.side(),
            scale,
        }
    }
}

/// The scale of each component. Subsampled chroma that must keep its detail is decoded at
/// twice the scale of luma, so that it is at least as large.
pub(super) fn scales(frame: &Frame, luma: DctScale, chroma: Chroma) -> Vec<DctScale> {
    let first = (frame.components[0].h, frame.components[0].v);
    let of = |component: &FrameComponent| match chroma {
        Chroma::Full if (component.h, component.v) != first => luma.finer(),
        _ => luma,
    };
    frame.components.iter().map(of).collect()
}

pub(super) struct FramePlanes {
    pub(super) sizes: Vec<PlaneSize>,
    data: Buffer,
}

impl FramePlanes {
    /// Room for so many rows of MCUs: all of the frame, unless they are taken out on the way.
    pub(super) fn new(
        frame: &Frame,
        scales: &[DctScale],
        mcu_rows: usize,
        job: &Job,
    ) -> Result<Self, CodecError> {
        let sizes: Vec<PlaneSize> = frame
            .components
            .iter()
            .zip(scales)
            .map(|(component, scale)| PlaneSize::new(frame, component, *scale, mcu_rows))
            .collect();
        let bytes = sizes.iter().map(|size| size.stride * size.rows).sum();
        Ok(Self {
            sizes,
            data: job.memory.zeroed(bytes)?,
        })
    }

    /// The padded planes.
    pub(super) fn split(&mut self) -> Vec<&mut [u8]> {
        let mut rest = &mut self.data[..];
        let mut planes = Vec::new();
        for size in &self.sizes {
            let (plane, more) = rest.split_at_mut(size.stride * size.rows);
            planes.push(plane);
            rest = more;
        }
        planes
    }

    /// Crops the padding off, in place.
    pub(super) fn finish(mut self, job: &Job) -> Result<Picture, CodecError> {
        let (mut plane, mut end) = (0, 0);
        for size in &self.sizes {
            for row in 0..size.height {
                if row.is_multiple_of(64) {
                    job.check()?;
                }
                let from = plane + row * size.stride;
                if from > end {
                    self.data.copy_within(from..from + size.width, end);
                }
                end += size.width;
            }
            plane += size.stride * size.rows;
        }
        self.data.truncate(end);
        let layout = match self.sizes.get(1) {
            Some(color) => Layout::YCbCr(ChromaSize {
                width: color.width as u32,
                height: color.height as u32,
            }),
            None => Layout::Gray,
        };
        Ok(Picture {
            width: self.sizes[0].width as u32,
            height: self.sizes[0].height as u32,
            layout,
            data: self.data,
        })
    }
}
