//! CMYK, RGB and unusual sampling factors, by `zune-jpeg`.

use majordomo_image_header::jpeg::{next_marker, segments};
use majordomo_image_header::{Compression, Format, Header};
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::DAMAGED;
use crate::color::{cmyk_to_srgb, color_profile};
use crate::jpeg::marker::{EOI, SOS};
use crate::memory::Buffer;
use crate::picture::{Layout, Picture, pixel_count, ycbcr_to_rgb};
use crate::stop::StoppableReader;
use crate::{CodecError, Job};

/// More than any encoder writes; each scan costs a pass over the whole picture.
const MAX_SCANS: usize = 64;
/// Bytes per pixel of width and channel: two rows of MCUs of 32-bit samples, upsampled.
const MCU_ROW_BYTES: usize = 256;

pub(super) fn decode(data: &[u8], header: &Header, job: &Job) -> Result<Picture, CodecError> {
    if !has_end(data) {
        return Err(DAMAGED);
    }
    // The crate loses rows of sequential files with several scans, and places chroma that is
    // finer than luma wrongly.
    let is_sequential = header.compression == Compression::JpegSequential;
    if is_sequential && !is_one_scan(data) || !has_usual_sampling(data) {
        return Err(CodecError::UnsupportedKind(Format::Jpeg));
    }
    let without_strays = without_strays(data, job)?;
    let data = without_strays.as_deref().unwrap_or(data);
    let channels = usize::from(header.channels);
    let pixels = pixel_count(header.width, header.height);
    let coefficients = match header.compression {
        Compression::JpegProgressive => 2 * channels,
        _ => 0,
    };
    // Coefficients, and rows of MCUs of every component.
    let rows = header.width as usize * channels * MCU_ROW_BYTES;
    let reservation = job.memory.reserve(pixels * coefficients + rows)?;
    let layout = if header.channels == 1 {
        Layout::Gray
    } else {
        Layout::Rgb
    };
    let space = match layout {
        Layout::Gray => ColorSpace::Luma,
        _ => ColorSpace::RGB,
    };
    let options = DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .set_strict_mode(true)
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(space);
    let reader = StoppableReader::new(data, &job.stop);
    let mut decoder = JpegDecoder::new_with_options(reader, options);
    decoder.decode_headers().map_err(|_| DAMAGED)?;
    let info = decoder.info().ok_or(DAMAGED)?;
    let size = (u32::from(info.width), u32::from(info.height));
    if size != (header.width, header.height) {
        return Err(DAMAGED);
    }
    let profile = match header.channels {
        4 => color_profile(data, Format::Jpeg),
        _ => None,
    };
    let mut pixels = if let Some(profile) = profile {
        let space = decoder.input_colorspace().ok_or(DAMAGED)?;
        decoder.set_options(options.jpeg_set_out_colorspace(space));
        let mut inks = job.memory.zeroed(pixels * 4)?;
        decoder.decode_into(&mut inks).map_err(|_| DAMAGED)?;
        drop(reservation);
        to_cmyk(&mut inks, space);
        if cmyk_to_srgb(&mut inks, &profile, job)?.is_none() {
            to_plain_rgb(&mut inks);
        }
        inks
    } else {
        let bytes = pixels * if layout == Layout::Gray { 1 } else { 3 };
        let mut samples = job.memory.zeroed(bytes)?;
        decoder.decode_into(&mut samples).map_err(|_| DAMAGED)?;
        drop(reservation);
        samples
    };
    let bytes = layout.bytes_per_pixel().unwrap_or(3);
    pixels.truncate(pixel_count(header.width, header.height) * bytes);
    Ok(Picture {
        width: header.width,
        height: header.height,
        layout,
        data: pixels,
    })
}

/// The file without bytes between its first segments, which the crate takes for damage; `None`
/// if there are none.
fn without_strays(data: &[u8], job: &Job) -> Result<Option<Buffer>, CodecError> {
    let mut clean: Option<Buffer> = None;
    let mut at = 2;
    loop {
        let start = next_marker(data, at).ok_or(DAMAGED)?;
        if start > at && clean.is_none() {
            let mut before = job.memory.with_room(data.len())?;
            before.append(&data[..at])?;
            clean = Some(before);
        }
        let [_, marker, high, low] = *data[start..].first_chunk().ok_or(DAMAGED)?;
        let end = start + 2 + usize::from(u16::from_be_bytes([high, low])).max(2);
        let segment = match marker {
            SOS => &data[start..],
            _ => data.get(start..end).ok_or(DAMAGED)?,
        };
        if let Some(clean) = &mut clean {
            clean.append(segment)?;
        }
        if marker == SOS {
            return Ok(clean);
        }
        at = end;
    }
}

/// Amounts of ink. Files store them inverted, or as inverted YCbCr and black (YCCK).
fn to_cmyk(pixels: &mut [u8], space: ColorSpace) {
    for pixel in pixels.as_chunks_mut::<4>().0 {
        let [a, b, c, black] = *pixel;
        let [cyan, magenta, yellow] = match space {
            ColorSpace::YCCK => ycbcr_to_rgb(a, b, c),
            _ => [255 - a, 255 - b, 255 - c],
        };
        *pixel = [cyan, magenta, yellow, 255 - black];
    }
}

/// Without a usable profile: each ink absorbs its complement.
fn to_plain_rgb(pixels: &mut [u8]) {
    for at in 0..pixels.len() / 4 {
        let black = u32::from(255 - pixels[at * 4 + 3]);
        for channel in 0..3 {
            let light = u32::from(255 - pixels[at * 4 + channel]);
            pixels[at * 3 + channel] = ((light * black + 127) / 255) as u8;
        }
    }
}

/// Whether the first scan has all components of the frame.
fn is_one_scan(data: &[u8]) -> bool {
    let scan = segments(data).find(|(marker, _)| *marker == SOS);
    let frame = segments(data).find(|(marker, _)| matches!(marker, 0xC0 | 0xC1));
    match (frame, scan) {
        (Some((_, frame)), Some((_, scan))) => frame.get(5) == scan.first(),
        _ => false,
    }
}

/// Whether all sampling factors are powers of two, and none exceeds that of the first component.
fn has_usual_sampling(data: &[u8]) -> bool {
    let frame = segments(data).find(|(marker, _)| matches!(marker, 0xC0..=0xC2));
    let components = frame.and_then(|(_, body)| body.get(6..)).unwrap_or(&[]);
    let components = components.as_chunks::<3>().0;
    let factors = |component: &[u8; 3]| [component[1] >> 4, component[1] & 15];
    let [across, down] = components.first().map_or([0; 2], factors);
    components
        .iter()
        .map(factors)
        .all(|[h, v]| h.is_power_of_two() && v.is_power_of_two() && h <= across && v <= down)
}

/// Whether there is an EOI marker. The decoder would pad truncated files, so they are refused
/// here.
fn has_end(data: &[u8]) -> bool {
    let scan = data.windows(2).position(|mark| mark == [0xFF, SOS]);
    let rest = &data[scan.unwrap_or(0)..];
    rest.windows(2).rev().any(|mark| mark == [0xFF, EOI])
}
