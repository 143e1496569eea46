//! WebP containers (RFC 9649, section 2) and the headers of their bitstreams.

use crate::endian::{le16, le24, le32};
use crate::{Compression, Format, Header, Orientation, exif};

const ALPHA: u8 = 0x10;

pub(crate) fn measure(data: &[u8]) -> Option<Header> {
    let riff = 8 + u64::from(le32(data, 4)?);
    let mut canvas = None;
    let mut still = None;
    let mut frames = 0;
    let mut orientation = Orientation::UPRIGHT;
    for (name, body) in file_chunks(data) {
        match &name {
            b"VP8X" => canvas = Some((le24(body, 4)? + 1, le24(body, 7)? + 1, body[0] & ALPHA)),
            b"VP8 " | b"VP8L" if still.is_none() => still = bitstream(&name, body),
            b"ANMF" => {
                frames += 1;
                if still.is_none() {
                    still = chunks(body.get(16..)?).find_map(|(name, body)| bitstream(&name, body));
                }
            }
            b"EXIF" => orientation = exif::orientation(body),
            _ => {}
        }
    }
    let picture = still?;
    let (width, height, alpha) = match canvas {
        // A still image fills its canvas; any other size is an attack.
        Some((w, h, _)) if frames == 0 && (w, h) != (picture.width, picture.height) => return None,
        Some((w, h, alpha)) => (w, h, alpha != 0 || picture.alpha),
        None => (picture.width, picture.height, picture.alpha),
    };
    Some(Header {
        format: Format::Webp,
        width,
        height,
        frames: frames.max(1),
        bit_depth: 8,
        channels: if alpha { 4 } else { 3 },
        orientation,
        clean_end: riff == data.len() as u64,
        compression: picture.compression,
    })
}

/// Where the image ends: after its RIFF container, and its padding byte.
pub(crate) fn end(data: &[u8]) -> Option<usize> {
    let end = 8 + le32(data, 4)? as usize;
    (end <= data.len()).then_some(end)
}

/// The offset of an animation's first frame on the canvas, and the frame rewrapped as
/// a still image, so that decoders never see the animation.
pub fn first_frame(data: &[u8]) -> Option<(u32, u32, Vec<u8>)> {
    let (_, body) = file_chunks(data).find(|(name, _)| name == b"ANMF")?;
    let (x, y) = (le24(body, 0)? * 2, le24(body, 3)? * 2);
    let (width, height) = (le24(body, 6)? + 1, le24(body, 9)? + 1);
    let mut alpha = None;
    let mut picture = None;
    for (name, body) in chunks(body.get(16..)?) {
        match &name {
            b"ALPH" => alpha = Some(body),
            b"VP8 " | b"VP8L" => {
                let inner = bitstream(&name, body)?;
                if (inner.width, inner.height) != (width, height) {
                    return None;
                }
                picture = Some((name, body));
                break;
            }
            _ => {}
        }
    }
    let (name, body) = picture?;
    let mut still = b"RIFF\0\0\0\0WEBP".to_vec();
    if let Some(alpha) = alpha.filter(|_| &name == b"VP8 ") {
        let mut extended = vec![ALPHA, 0, 0, 0];
        extended.extend_from_slice(&(width - 1).to_le_bytes()[..3]);
        extended.extend_from_slice(&(height - 1).to_le_bytes()[..3]);
        push_chunk(&mut still, b"VP8X", &extended);
        push_chunk(&mut still, b"ALPH", alpha);
    }
    push_chunk(&mut still, &name, body);
    let size = u32::try_from(still.len() - 8).ok()?;
    still[4..8].copy_from_slice(&size.to_le_bytes());
    Some((x, y, still))
}

/// The VP8 key frame of a lossy still image.
pub fn lossy_frame<'a>(data: &'a [u8], header: &Header) -> Option<&'a [u8]> {
    if header.compression != Compression::WebpLossy || header.is_animated() {
        return None;
    }
    let (_, body) = file_chunks(data).find(|(name, _)| name == b"VP8 ")?;
    Some(body)
}

struct Bitstream {
    width: u32,
    height: u32,
    alpha: bool,
    compression: Compression,
}

fn bitstream(name: &[u8; 4], body: &[u8]) -> Option<Bitstream> {
    match name {
        b"VP8 " => {
            let key_frame = body.first()? & 1 == 0;
            (key_frame && body.get(3..6)? == b"\x9D\x01\x2A").then_some(())?;
            Some(Bitstream {
                width: u32::from(le16(body, 6)? & 0x3FFF),
                height: u32::from(le16(body, 8)? & 0x3FFF),
                alpha: false,
                compression: Compression::WebpLossy,
            })
        }
        b"VP8L" => {
            (*body.first()? == 0x2F).then_some(())?;
            let bits = le32(body, 1)?;
            Some(Bitstream {
                width: (bits & 0x3FFF) + 1,
                height: (bits >> 14 & 0x3FFF) + 1,
                alpha: bits >> 28 & 1 == 1,
                compression: Compression::WebpLossless,
            })
        }
        _ => None,
    }
}

fn push_chunk(out: &mut Vec<u8>, name: &[u8; 4], body: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(body);
    if body.len() % 2 == 1 {
        out.push(0);
    }
}

/// FourCC and payload of every complete chunk of a file. Data after the RIFF container is not
/// part of the image.
pub fn file_chunks(data: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let end = end(data).unwrap_or(data.len());
    chunks(data.get(12..end).unwrap_or_default())
}

/// FourCC and payload of every complete chunk in `data`. Payloads are padded to an even
/// length.
fn chunks(data: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let name = *data.get(at..)?.first_chunk()?;
        let length = le32(data, at + 4)? as usize;
        let end = at.checked_add(8)?.checked_add(length)?;
        let body = data.get(at + 8..end)?;
        at = end + length % 2;
        Some((name, body))
    })
}
