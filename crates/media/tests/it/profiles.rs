//! Colours are converted by the profile of a file, if it fits the file.

use std::borrow::Cow;

use bytes::Bytes;
use moxcms::ColorProfile;

use crate::mediagen::*;

/// A colour profile with the primaries of Display P3.
fn p3() -> Vec<u8> {
    moxcms::ColorProfile::new_display_p3().encode().unwrap()
}

#[test]
fn a_wide_gamut_image_is_converted_to_srgb() {
    let color = |_: u32, _: u32| [200, 80, 60];
    let photo = jpeg_with(64, 64, color, |e| e.add_icc_profile(&p3()).unwrap());
    let fitted = fit(&photo, &px(32)).unwrap();
    let [r, g, b] = open(&fitted.data).at(16, 16);
    // In sRGB, the same colour has more red and less green and blue.
    assert!(r > 208 && g < 78 && b < 58, "{:?}", [r, g, b]);
}

#[test]
fn malformed_and_enormous_icc_profiles_are_ignored() {
    let color = |_: u32, _: u32| [200, 80, 60];
    for profile in [
        b"not a profile".to_vec(),
        vec![7; 4 << 20],
        p3()[..100].to_vec(),
    ] {
        let photo = jpeg_with(64, 64, color, |e| e.add_icc_profile(&profile).unwrap());
        let fitted = fit(&photo, &px(32)).unwrap();
        near(open(&fitted.data).at(16, 16), [200, 80, 60], 4);
    }
}

/// A PNG of one colour, with a profile.
fn png_with_profile(color: png::ColorType, pixel: &[u8], profile: &ColorProfile) -> Bytes {
    let mut info = png::Info::with_size(16, 16);
    info.color_type = color;
    info.bit_depth = png::BitDepth::Eight;
    info.icc_profile = Some(Cow::Owned(profile.encode().unwrap()));
    let mut data = Vec::new();
    let encoder = png::Encoder::with_info(&mut data, info).unwrap();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixel.repeat(256)).unwrap();
    writer.finish().unwrap();
    data.into()
}

/// Stored with or without alpha, gray has a gray profile, and colours have an RGB profile.
#[test]
fn a_png_is_converted_by_a_profile_that_matches_its_colour_type() {
    let gray = ColorProfile::new_gray_with_gamma(1.0);
    let mut rgb = ColorProfile::new_srgb();
    rgb.cicp = None;
    let curve = moxcms::curve_from_gamma(1.0);
    rgb.red_trc = Some(curve.clone());
    rgb.green_trc = Some(curve.clone());
    rgb.blue_trc = Some(curve);
    // 90 / 255 of the light is the level 159 of sRGB.
    for (color, pixel, profile, wanted) in [
        (png::ColorType::Grayscale, [90].as_slice(), &gray, 159),
        (png::ColorType::GrayscaleAlpha, &[90, 254], &gray, 159),
        (png::ColorType::GrayscaleAlpha, &[90, 255], &gray, 159),
        (png::ColorType::Rgb, &[90, 90, 90], &rgb, 159),
        (png::ColorType::Rgba, &[90, 90, 90, 254], &rgb, 159),
        (png::ColorType::Grayscale, &[90], &rgb, 90),
        (png::ColorType::GrayscaleAlpha, &[90, 254], &rgb, 90),
        (png::ColorType::GrayscaleAlpha, &[90, 255], &rgb, 90),
        (png::ColorType::Rgb, &[90, 90, 90], &gray, 90),
        (png::ColorType::Rgba, &[90, 90, 90, 254], &gray, 90),
    ] {
        let original = png_with_profile(color, pixel, profile);
        let fitted = fit(&original, &types(&["image/webp"])).unwrap();
        println!("{color:?} {pixel:?}");
        near(open(&fitted.data).at(8, 8), [wanted; 3], 1);
    }
}
