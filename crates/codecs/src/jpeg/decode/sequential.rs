//! The decoder of one interleaved sequential scan (ITU T.81, F.2): one pass from Huffman
//! codes to planes, which may be turned on the way.

use fearless_simd::{Level, Simd, dispatch};
use majordomo_image_header::Orientation;

use super::bit_reader::BitReader;
use super::huffman::HuffmanTable;
use super::idct::{DctScale, idct};
use super::markers::{Frame, Scan, Segments, Tables};
use super::planes::FramePlanes;
use super::turned::{STRIP, TurnedPlanes};
use super::{DAMAGED, RestartCounter};
use crate::jpeg::marker::EOI;
use crate::jpeg::zigzag::ZIGZAG;
use crate::picture::Picture;
use crate::simd_level::level;
use crate::{CodecError, Job};

/// A component while its blocks are decoded.
struct Decoding<'t> {
    h: usize,
    v: usize,
    dc: &'t HuffmanTable,
    ac: &'t HuffmanTable,
    scale: DctScale,
    factors: [f32; 64],
    dc_predictor: i32,
}

impl<'t> Decoding<'t> {
    fn all(
        frame: &Frame,
        scan: &Scan,
        tables: &'t Tables,
        scales: &[DctScale],
    ) -> Option<Vec<Self>> {
        let of = |selected: &super::markers::ScanComponent| {
            let component = &frame.components[selected.place];
            let scale = scales[selected.place];
            Some(Self {
                h: component.h as usize,
                v: component.v as usize,
                dc: tables.dc(selected)?,
                ac: tables.ac(selected)?,
                factors: scale.factors(tables.quantization(component)?),
                scale,
                dc_predictor: 0,
            })
        };
        scan.components.iter().map(of).collect()
    }
}

/// Decodes a file whose only scan has all components, and turns it.
pub(super) fn decode(
    segments: &Segments<'_>,
    frame: &Frame,
    scan: &Scan,
    (scales, turn): (&[DctScale], Orientation),
    job: &Job,
) -> Result<Picture, CodecError> {
    let tables = &segments.tables;
    let mut components = Decoding::all(frame, scan, tables, scales).ok_or(DAMAGED)?;
    let kept = match turn.is_upright() {
        true => frame.mcu_rows(),
        false => frame.mcu_rows().min(STRIP),
    };
    let mut turned = match turn.is_upright() {
        true => None,
        false => Some(TurnedPlanes::new(frame, scales, turn, job)?),
    };
    let mut planes = FramePlanes::new(frame, scales, kept, job)?;
    let strides: Vec<usize> = planes.sizes.iter().map(|size| size.stride).collect();
    let mut bits = BitReader::new(segments.rest());
    let mut restarts = RestartCounter::new(tables.restart_interval);
    let mut outs = planes.split();
    // Reduced blocks are too small for wide instructions.
    let level = match scales.contains(&DctScale::Whole) {
        true => level(),
        false => Level::baseline(),
    };
    for mcu_row in 0..frame.mcu_rows() {
        job.check()?;
        let row = (mcu_row % kept, frame.mcu_cols());
        let reading = (&mut bits, &mut restarts);
        dispatch!(level, simd => {
            read_mcu_row(simd, reading, row, &mut components, &mut outs, &strides)
        })?;
        if bits.is_exhausted() {
            return Err(DAMAGED);
        }
        if let Some(turned) = &mut turned
            && (row.0 + 1 == kept || mcu_row + 1 == frame.mcu_rows())
        {
            turned.fill(&outs, mcu_row - row.0..mcu_row + 1);
        }
    }
    // Some encoders leave bytes between the last MCU and EOI.
    if !bits.rest().windows(2).any(|mark| mark == [0xFF, EOI]) {
        return Err(DAMAGED);
    }
    match turned {
        Some(turned) => Ok(turned.finish()),
        None => planes.finish(job),
    }
}

/// Decodes one row of MCUs into the planes.
#[inline(always)]
fn read_mcu_row<S: Simd>(
    simd: S,
    (bits, restarts): (&mut BitReader<'_>, &mut RestartCounter),
    (mcu_row, mcu_cols): (usize, usize),
    components: &mut [Decoding<'_>],
    outs: &mut [&mut [u8]],
    strides: &[usize],
) -> Result<(), CodecError> {
    let mut block = [0.0; 64];
    let mut reader = *bits;
    for mcu_col in 0..mcu_cols {
        if restarts.is_due(&mut reader)? {
            components.iter_mut().for_each(|c| c.dc_predictor = 0);
        }
        let planes = outs.iter_mut().zip(strides);
        for (component, (out, stride)) in components.iter_mut().zip(planes) {
            let scale = component.scale;
            let side = scale.side();
            for y in 0..component.v {
                for x in 0..component.h {
                    let last = read_block(&mut reader, component, &mut block)?;
                    let row = (mcu_row * component.v + y) * side;
                    let start = row * stride + (mcu_col * component.h + x) * side;
                    idct(simd, scale, &block, last, (&mut out[start..], *stride));
                    if last > 0 {
                        block = [0.0; 64];
                    }
                }
            }
        }
    }
    *bits = reader;
    Ok(())
}

/// Decodes one block into dequantized coefficients; returns the zigzag index of the last
/// one.
#[inline(always)]
fn read_block(
    bits: &mut BitReader<'_>,
    component: &mut Decoding<'_>,
    block: &mut [f32; 64],
) -> Result<usize, CodecError> {
    bits.refill();
    let size = component.dc.decode(bits).ok_or(DAMAGED)?;
    if size > 15 {
        return Err(DAMAGED);
    }
    component.dc_predictor = component
        .dc_predictor
        .wrapping_add(bits.receive_extend(u32::from(size)));
    block[0] = component.dc_predictor as f32 * component.factors[0];
    let mut at = 1;
    let mut last = 0;
    while at < 64 {
        bits.refill();
        let coefficient = component.ac.peek_coefficient(bits);
        let value = if coefficient.bits > 0 {
            at += usize::from(coefficient.run);
            bits.consume(u32::from(coefficient.bits));
            i32::from(coefficient.value)
        } else {
            let symbol = component.ac.decode(bits).ok_or(DAMAGED)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 {
                if zeros < 15 {
                    break;
                }
                at += 16;
                continue;
            }
            at += zeros;
            bits.receive_extend(size)
        };
        if at > 63 {
            return Err(DAMAGED);
        }
        let place = usize::from(ZIGZAG[at]);
        block[place & 63] = value as f32 * component.factors[at];
        last = at;
        at += 1;
    }
    // At 1/8, only the DC coefficient counts.
    Ok(if component.scale == DctScale::Eighth {
        last.min(1)
    } else {
        last
    })
}
