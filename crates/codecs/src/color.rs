//! ICC profiles: pixels in other colour spaces are converted to sRGB.
//!
//! Consumers that ignore profiles would see wide-gamut images as pale. A profile that
//! cannot be applied is ignored.

use std::borrow::Cow;

use majordomo_image_header::{Format, jpeg, png, webp};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use moxcms::{ColorProfile, DataColorSpace, Layout as Channels, TransformOptions};

use crate::Stop;
use crate::picture::{Layout, Picture};

/// Real profiles have kilobytes; larger ones are ignored like malformed ones.
const MAX_PROFILE: usize = 1 << 20;

/// The embedded ICC profile, if its size is plausible.
pub fn color_profile(data: &[u8], format: Format) -> Option<Vec<u8>> {
    match format {
        Format::Jpeg => jpeg_profile(data),
        Format::Png => png_profile(data),
        Format::Webp => webp_profile(data).map(<[u8]>::to_vec),
        _ => None,
    }
}

/// Joins the APP2 segments of a profile in the order of their sequence numbers
/// (ICC.1, Annex B.4).
fn jpeg_profile(data: &[u8]) -> Option<Vec<u8>> {
    const APP2: u8 = 0xE2;
    let mut parts: Vec<(u8, &[u8])> = jpeg::segments(data)
        .filter(|(marker, _)| *marker == APP2)
        .filter_map(|(_, body)| {
            let part = body.strip_prefix(b"ICC_PROFILE\0")?;
            Some((*part.first()?, part.get(2..)?))
        })
        .collect();
    parts.sort_by_key(|(number, _)| *number);
    let size: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let sane = (1..=MAX_PROFILE).contains(&size);
    sane.then(|| {
        parts
            .into_iter()
            .flat_map(|(_, part)| part)
            .copied()
            .collect()
    })
}

/// Inflates `iCCP` with a size limit: the chunk may be a decompression bomb.
fn png_profile(data: &[u8]) -> Option<Vec<u8>> {
    let (_, body, _) = png::chunks(data)
        .take_while(|(name, ..)| name != b"IDAT")
        .find(|(name, ..)| name == b"iCCP")?;
    let name_end = body.iter().take(80).position(|byte| *byte == 0)?;
    let packed = body.get(name_end + 2..)?;
    decompress_to_vec_zlib_with_limit(packed, MAX_PROFILE).ok()
}

fn webp_profile(data: &[u8]) -> Option<&[u8]> {
    let (_, body) = webp::chunks(data.get(12..)?).find(|(name, _)| name == b"ICCP")?;
    (body.len() <= MAX_PROFILE).then_some(body)
}

/// Converts to sRGB unless the profile is sRGB. If stopped, the remaining rows stay
/// unconverted.
pub fn to_srgb<'a>(picture: Cow<'a, Picture>, profile: &[u8], stop: &Stop) -> Cow<'a, Picture> {
    if is_srgb(profile) {
        return picture;
    }
    let Ok(source) = ColorProfile::new_from_slice(profile) else {
        return picture;
    };
    let wanted = match picture.layout {
        Layout::Gray => DataColorSpace::Gray,
        _ => DataColorSpace::Rgb,
    };
    if source.color_space != wanted {
        return picture;
    }
    let mut picture = match picture.layout {
        Layout::YCbCr(_) => picture.to_interleaved().into_owned(),
        _ => picture.into_owned(),
    };
    let channels = match picture.layout {
        Layout::Gray => Channels::Gray,
        Layout::Rgb | Layout::YCbCr(_) => Channels::Rgb,
        Layout::Rgba | Layout::Rgbx => Channels::Rgba,
    };
    let target = match picture.layout {
        Layout::Gray => ColorProfile::new_gray_with_gamma(2.2),
        _ => ColorProfile::new_srgb(),
    };
    let options = TransformOptions::default();
    let Ok(transform) = source.create_transform_8bit(channels, &target, channels, options) else {
        return Cow::Owned(picture);
    };
    let row = picture.width as usize * picture.layout.bytes_per_pixel().unwrap_or(3);
    let mut before = vec![0; row];
    for line in picture.data.chunks_exact_mut(row.max(1)) {
        if stop.is_stopped() {
            break;
        }
        before.copy_from_slice(line);
        if transform.transform(&before, line).is_err() {
            line.copy_from_slice(&before);
        }
    }
    Cow::Owned(picture)
}

/// Most profiles are sRGB, under that name.
fn is_srgb(profile: &[u8]) -> bool {
    let tags = &profile[..profile.len().min(4096)];
    let plain = tags.windows(4).any(|window| window == b"sRGB");
    let wide = tags.windows(8).any(|window| window == b"\0s\0R\0G\0B");
    plain || wide
}
