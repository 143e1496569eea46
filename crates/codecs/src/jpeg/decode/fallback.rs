//! Progressive, CMYK and other unusual files, by `zune-jpeg`.

use majordomo_image_header::{Format, Header};
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use crate::jpeg::marker::{EOI, SOS};
use crate::picture::{Layout, Picture};
use crate::stop::StoppableReader;
use crate::{CodecError, Stop};

/// More than any encoder writes; each scan costs a pass over the whole picture.
const MAX_SCANS: usize = 64;

pub(super) fn decode(data: &[u8], header: &Header, stop: &Stop) -> Result<Picture, CodecError> {
    const DAMAGED: CodecError = CodecError::Damaged(Format::Jpeg);
    if !has_end(data) {
        return Err(DAMAGED);
    }
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
    let mut decoder = JpegDecoder::new_with_options(StoppableReader::new(data, stop), options);
    decoder.decode_headers().map_err(|_| DAMAGED)?;
    let info = decoder.info().ok_or(DAMAGED)?;
    let size = (u32::from(info.width), u32::from(info.height));
    if size != (header.width, header.height) {
        return Err(DAMAGED);
    }
    let pixels = decoder.decode().map_err(|_| DAMAGED)?;
    Ok(Picture {
        width: header.width,
        height: header.height,
        layout,
        data: pixels,
    })
}

/// Whether there is an EOI marker. The decoder pads truncated files; they are refused here.
fn has_end(data: &[u8]) -> bool {
    let scan = data.windows(2).position(|mark| mark == [0xFF, SOS]);
    let rest = &data[scan.unwrap_or(0)..];
    rest.windows(2).rev().any(|mark| mark == [0xFF, EOI])
}
