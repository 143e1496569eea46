//! Progressive files, and sequential ones with several scans (ITU T.81, Annex G and B.2.3):
//! all scans are decoded into coefficients, which become planes at the end.

use fearless_simd::{Simd, dispatch};

use super::DAMAGED;
use super::idct::{DctScale, idct};
use super::markers::{Frame, Next, Scan, ScanComponent, Segments};
use super::planes::FramePlanes;
use super::scan::{BlockGrid, decode_scan};
use crate::jpeg::zigzag::ZIGZAG;
use crate::memory::Buffer;
use crate::picture::Picture;
use crate::simd_level::level;
use crate::{CodecError, Job};

/// More than any encoder writes; each scan costs a pass over the whole picture.
const MAX_SCANS: usize = 64;

/// The coefficients of one component, in natural order, block by block.
pub(super) struct ComponentCoefficients {
    pub(super) blocks: Buffer<i16>,
    /// By block: which coefficients are not zero, by zigzag index.
    pub(super) nonzero: Buffer<u64>,
    /// The blocks that exist, and those of whole MCUs.
    pub(super) grid: BlockGrid,
    quantization: Option<[u16; 64]>,
}

pub(super) fn decode(
    segments: &mut Segments<'_>,
    frame: &Frame,
    first: Scan,
    scales: &[DctScale],
    job: &Job,
) -> Result<Picture, CodecError> {
    let mut components = Vec::new();
    for component in &frame.components {
        let grid = BlockGrid {
            across: frame.samples_across(component).div_ceil(8) as usize,
            down: frame.samples_down(component).div_ceil(8) as usize,
            stride: frame.mcu_cols() * component.h as usize,
        };
        let rows = frame.mcu_rows() * component.v as usize;
        components.push(ComponentCoefficients {
            blocks: job.memory.zeroed(grid.stride * rows * 64)?,
            nonzero: job.memory.zeroed(grid.stride * rows)?,
            grid,
            quantization: None,
        });
    }
    let mut scan = first;
    for _ in 0..MAX_SCANS {
        for selected in &scan.components {
            let table = segments
                .tables
                .quantization(&frame.components[selected.place]);
            let component = &mut components[selected.place];
            component.quantization = component.quantization.or(table.copied());
        }
        let of_scan = |selected: &ScanComponent| scales[selected.place];
        let rest = if scan.band.0 > 0
            && (scan.components.iter().map(of_scan)).all(|scale| scale == DctScale::Eighth)
        {
            // At 1/8, only DC coefficients count.
            segments.rest()
        } else {
            let data = segments.rest();
            decode_scan(data, &segments.tables, frame, &scan, &mut components, job)?
        };
        match segments.next_scan(frame, rest).ok_or(DAMAGED)? {
            Next::Scan(next) => scan = next,
            Next::End => return reconstruct(frame, components, scales, job),
        }
    }
    Err(DAMAGED)
}

/// Dequantizes and transforms all blocks. A component's coefficients are released as soon
/// as they are used.
fn reconstruct(
    frame: &Frame,
    components: Vec<ComponentCoefficients>,
    scales: &[DctScale],
    job: &Job,
) -> Result<Picture, CodecError> {
    let mut planes = FramePlanes::new(frame, scales, frame.mcu_rows(), job)?;
    let sizes: Vec<(usize, DctScale)> = planes
        .sizes
        .iter()
        .map(|size| (size.stride, size.scale))
        .collect();
    let level = level();
    let outs = planes.split().into_iter().zip(sizes);
    for (component, (plane, (stride, scale))) in components.into_iter().zip(outs) {
        // A component without a scan would be missing from the picture.
        let quantization = component.quantization.ok_or(DAMAGED)?;
        let factors = natural(scale.factors(&quantization));
        let across = component.grid.stride;
        let rows = component.blocks.chunks_exact(across * 64);
        let rows = rows.zip(component.nonzero.chunks_exact(across));
        for ((row, nonzero), out) in rows.zip(plane.chunks_exact_mut(stride * scale.side())) {
            job.check()?;
            dispatch!(level, simd => {
                transform_row(simd, (row, nonzero), &factors, scale, (out, stride));
            });
        }
    }
    planes.finish(job)
}

#[inline(always)]
fn transform_row<S: Simd>(
    simd: S,
    (row, nonzero): (&[i16], &[u64]),
    factors: &[f32; 64],
    scale: DctScale,
    (out, stride): (&mut [u8], usize),
) {
    let blocks = row.as_chunks::<64>().0.iter().zip(nonzero);
    for (at, (coefficients, nonzero)) in blocks.enumerate() {
        let mut block = [0.0; 64];
        block[0] = f32::from(coefficients[0]) * factors[0];
        let has_ac = nonzero >> 1 != 0;
        if has_ac {
            for ((value, coefficient), factor) in block.iter_mut().zip(coefficients).zip(factors) {
                *value = f32::from(*coefficient) * factor;
            }
        }
        let out = &mut out[at * scale.side()..];
        idct(simd, scale, &block, usize::from(has_ac), (out, stride));
    }
}

/// From zigzag to natural order.
fn natural(zigzag: [f32; 64]) -> [f32; 64] {
    let mut natural = [0.0; 64];
    for (value, place) in zigzag.into_iter().zip(ZIGZAG) {
        natural[usize::from(place)] = value;
    }
    natural
}
