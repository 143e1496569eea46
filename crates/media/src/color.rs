//! Colour profiles: pixels in another colour space become sRGB.
//!
//! Models look at numbers and ignore profiles, so a wide-gamut photograph would
//! look pale to them. A profile that cannot be used is ignored.

use std::borrow::Cow;

use moxcms::{ColorProfile, DataColorSpace, Layout as Channels, TransformOptions};

use crate::Stop;
use crate::picture::{Layout, Picture};

/// Converts to sRGB if the profile says that the pixels are something else. The
/// rest stays as it is when the work is to end.
pub(crate) fn to_srgb<'a>(
    picture: Cow<'a, Picture>,
    profile: &[u8],
    stop: &Stop,
) -> Cow<'a, Picture> {
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
        Layout::Planes(_) => picture.packed().into_owned(),
        _ => picture.into_owned(),
    };
    let channels = match picture.layout {
        Layout::Gray => Channels::Gray,
        Layout::Rgb | Layout::Planes(_) => Channels::Rgb,
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
    let row = picture.width as usize * picture.layout.packed().unwrap_or(3);
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

/// Most profiles are sRGB itself, under its own name.
fn is_srgb(profile: &[u8]) -> bool {
    let tags = &profile[..profile.len().min(4096)];
    let plain = tags.windows(4).any(|window| window == b"sRGB");
    let wide = tags.windows(8).any(|window| window == b"\0s\0R\0G\0B");
    plain || wide
}
