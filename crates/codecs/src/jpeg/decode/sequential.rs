//! The decoder of a sequential scan (ITU T.81, F.2): one pass from Huffman codes to planes.

use majordomo_image_header::Format;

use super::bit_reader::BitReader;
use super::idct::{DctScale, idct};
use super::markers::{Component, SequentialImage};
use crate::jpeg::marker::EOI;
use crate::jpeg::zigzag::ZIGZAG;
use crate::picture::{ChromaSize, Layout, Picture};
use crate::{CodecError, Stop};

const DAMAGED: CodecError = CodecError::Damaged(Format::Jpeg);

/// A component's plane, padded to whole MCUs.
struct DecodedPlane {
    width: usize,
    height: usize,
    stride: usize,
    data: Vec<u8>,
    factors: [f32; 64],
    dc_predictor: i32,
}

/// Decodes at the smallest scale that has the wanted size.
pub(super) fn decode(
    image: &SequentialImage<'_>,
    wanted: (u32, u32),
    stop: &Stop,
) -> Result<Picture, CodecError> {
    let scale = DctScale::for_size((image.width, image.height), wanted);
    let side = scale.side();
    let h_max = image.components[0].h;
    let v_max = image.components[0].v;
    let mcu_cols = image.width.div_ceil(8 * h_max) as usize;
    let mcu_rows = image.height.div_ceil(8 * v_max) as usize;
    let mut planes: Vec<DecodedPlane> = image
        .components
        .iter()
        .map(|component| {
            let stride = mcu_cols * component.h as usize * side;
            let rows = mcu_rows * component.v as usize * side;
            let width = (image.width * component.h).div_ceil(h_max);
            let height = (image.height * component.v).div_ceil(v_max);
            DecodedPlane {
                width: scale.of(width) as usize,
                height: scale.of(height) as usize,
                stride,
                data: vec![0; stride * rows],
                factors: scale.factors(&component.quantization),
                dc_predictor: 0,
            }
        })
        .collect();

    let mut bits = BitReader::new(image.scan);
    let mut until_restart = image.restart_interval;
    let mut block = [0.0; 64];
    for mcu_row in 0..mcu_rows {
        stop.check()?;
        for mcu_col in 0..mcu_cols {
            if image.restart_interval > 0 {
                if until_restart == 0 {
                    if !bits.restart() {
                        return Err(DAMAGED);
                    }
                    planes.iter_mut().for_each(|plane| plane.dc_predictor = 0);
                    until_restart = image.restart_interval;
                }
                until_restart -= 1;
            }
            for (component, plane) in image.components.iter().zip(&mut planes) {
                let (h, v) = (component.h as usize, component.v as usize);
                for y in 0..v {
                    for x in 0..h {
                        let last = read_block(&mut bits, component, plane, scale, &mut block)?;
                        let row = (mcu_row * v + y) * side;
                        let start = row * plane.stride + (mcu_col * h + x) * side;
                        let out = &mut plane.data[start..];
                        idct(scale, &mut block, last, out, plane.stride);
                        if last > 0 {
                            block = [0.0; 64];
                        }
                    }
                }
            }
        }
        if bits.is_exhausted() {
            return Err(DAMAGED);
        }
    }
    // Some encoders leave bytes between the last MCU and EOI.
    if !bits.rest().windows(2).any(|mark| mark == [0xFF, EOI]) {
        return Err(DAMAGED);
    }
    Ok(assemble(planes))
}

/// Decodes one block into dequantized coefficients; returns the zigzag index of the last
/// one.
#[inline(always)]
fn read_block(
    bits: &mut BitReader<'_>,
    component: &Component,
    plane: &mut DecodedPlane,
    scale: DctScale,
    block: &mut [f32; 64],
) -> Result<usize, CodecError> {
    bits.refill();
    let size = component.dc.decode(bits).ok_or(DAMAGED)?;
    if size > 15 {
        return Err(DAMAGED);
    }
    plane.dc_predictor = plane
        .dc_predictor
        .wrapping_add(bits.receive_extend(u32::from(size)));
    block[0] = plane.dc_predictor as f32 * plane.factors[0];
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
        block[place & 63] = value as f32 * plane.factors[at];
        last = at;
        at += 1;
    }
    // At 1/8, only the DC coefficient counts.
    Ok(if scale == DctScale::Eighth {
        last.min(1)
    } else {
        last
    })
}

/// Joins the planes, cropped.
fn assemble(mut planes: Vec<DecodedPlane>) -> Picture {
    let size = |plane: &DecodedPlane| (plane.width as u32, plane.height as u32);
    let (width, height) = size(&planes[0]);
    let layout = match planes.get(1) {
        Some(color) => Layout::YCbCr(ChromaSize {
            width: color.width as u32,
            height: color.height as u32,
        }),
        None => Layout::Gray,
    };
    let (first, colors) = planes.split_at_mut(1);
    crop(&mut first[0]);
    let mut data = std::mem::take(&mut first[0].data);
    for plane in colors {
        crop(plane);
        data.append(&mut plane.data);
    }
    Picture {
        width,
        height,
        layout,
        data,
    }
}

/// Removes the padding, in place.
fn crop(plane: &mut DecodedPlane) {
    for row in 0..plane.height {
        let from = row * plane.stride;
        plane
            .data
            .copy_within(from..from + plane.width, row * plane.width);
    }
    plane.data.truncate(plane.width * plane.height);
}
