//! The content of an image survives: colours, transparency, text.

use bytes::Bytes;
use jpeg_encoder::{ColorType, Encoder};
use majordomo_llm::ImageLimits;
use majordomo_media::{Format, Plan, Terms, measure, plan};

use crate::mediagen::*;

#[test]
fn data_after_the_end_of_an_image_is_not_sent() {
    for (name, original) in [
        ("png", png(20, 10, smooth)),
        ("jpeg", jpeg(20, 10, smooth)),
        ("gif", gif(20, 10, &[[1, 2, 3], [4, 5, 6]])),
        ("webp", webp::file(webp::LOSSY)),
        ("animated webp", webp::file(webp::ANIMATED)),
    ] {
        for tail in [
            &[0; 9],
            b"PK\x03\x04".as_slice(),
            b"<script>alert(1)</script>",
            b"%PDF-1.4",
        ] {
            let polyglot = Bytes::from([&original, tail].concat());
            assert!(!measure(&polyglot).unwrap().clean_end, "{name}");
            let fitted = fit(&polyglot, &ImageLimits::default()).unwrap();
            assert!(
                fitted.data == original,
                "{name}: all of the image, and nothing else"
            );
            assert_eq!(
                fitted.data.as_ptr(),
                polyglot.as_ptr(),
                "{name}: not copied"
            );
            assert_eq!(
                (fitted.conversion, fitted.trimmed),
                (None, tail.len() as u64)
            );
        }
    }
    let page = Terms::of(&ImageLimits::default(), 1);
    assert!(plan(b"<html><body>hi</body></html>", "image/png", &page).is_err());
}

#[test]
fn sniffed_bytes_override_the_declared_type() {
    let data = jpeg(20, 10, smooth);
    let terms = Terms::of(&ImageLimits::default(), 1);
    for declared in [
        "image/png",
        "image/svg+xml",
        "text/html",
        "",
        "image/jpg",
        "IMAGE/JPEG",
        "image/jpeg; q=1",
    ] {
        let plan = plan(&data, declared, &terms).unwrap();
        let media_type = "image/jpeg".to_owned();
        assert_eq!(plan, Plan::Pass { media_type }, "{declared}");
    }
}

#[test]
fn unrecognised_bytes_pass_only_under_an_unrecognised_type() {
    let bytes = b"\x00\x01 some new codec";
    let any = Terms::of(&ImageLimits::default(), 1);
    let listed = Terms::of(&types(&["image/x-new"]), 1);
    let png_only = Terms::of(&types(&["image/png"]), 1);
    assert!(plan(bytes, "image/x-new", &any).is_ok());
    assert!(plan(bytes, "image/x-new", &listed).is_ok());
    assert!(plan(bytes, "image/x-new", &png_only).is_err());
    assert!(plan(bytes, "image/jpeg", &any).is_err());
    assert!(plan(bytes, "text/html", &any).is_err());
}

#[test]
fn an_animation_becomes_its_first_frame_unless_the_target_accepts_animations() {
    let colors = [[250, 10, 10], [10, 250, 10]];
    let mut apng = Vec::new();
    let mut encoder = png::Encoder::new(&mut apng, 30, 20);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_animated(2, 0).unwrap();
    let mut writer = encoder.write_header().unwrap();
    for color in colors {
        writer.write_image_data(&color.repeat(600)).unwrap();
    }
    writer.finish().unwrap();
    for (name, data) in [
        ("gif", gif(30, 20, &colors)),
        ("webp", webp::file(webp::ANIMATED)),
        ("apng", apng.into()),
    ] {
        let moving = ImageLimits::default().with_animations(Some(true));
        assert_eq!(fit(&data, &moving).unwrap().data.as_ptr(), data.as_ptr());
        let still = types(&["image/png"]).with_animations(Some(false));
        let fitted = fit(&data, &still).unwrap();
        let made = fitted.conversion.as_ref().unwrap();
        assert!(made.from.frames > 1, "{name}");
        assert_eq!(measure(&fitted.data).unwrap().frames, 1, "{name}");
        near(open(&fitted.data).at(5, 5), [252, 5, 5], 12);
    }
}

#[test]
fn cmyk_is_neither_inverted_nor_refused() {
    // Cyan ink on one half, none on the other.
    let pixels: Vec<u8> = (0..64 * 64)
        .flat_map(|at| {
            if at % 64 < 32 {
                [255, 0, 0, 0]
            } else {
                [0, 0, 0, 0]
            }
        })
        .collect();
    for color in [ColorType::Cmyk, ColorType::CmykAsYcck] {
        let mut data = Vec::new();
        Encoder::new(&mut data, 95)
            .encode(&pixels, 64, 64, color)
            .unwrap();
        let fitted = fit(&data.into(), &px(32)).unwrap();
        let opened = open(&fitted.data);
        near(opened.at(4, 16), [0, 255, 255], 12);
        near(opened.at(28, 16), [255, 255, 255], 12);
    }
}

/// A CMYK profile (ICC.1, lut8Type) in which cyan is a gray of L* 60, black is black, no
/// ink is white, and everything else a dark gray.
fn cmyk_profile() -> Vec<u8> {
    let mut lut = b"mft1\0\0\0\0\x04\x03\x02\0".to_vec();
    for at in 0..9 {
        let one = if at % 4 == 0 { 1_u32 << 16 } else { 0 };
        lut.extend_from_slice(&one.to_be_bytes());
    }
    let identity: Vec<u8> = (0..=255).collect();
    lut.extend_from_slice(&identity.repeat(4));
    // The last ink varies fastest. Lab with neutral a and b.
    for inks in 0..16_u8 {
        let lightness = match inks {
            0 => 255,
            0b1000 => 153,
            inks if inks & 1 == 1 => 0,
            _ => 102,
        };
        lut.extend_from_slice(&[lightness, 128, 128]);
    }
    lut.extend_from_slice(&identity.repeat(3));
    let white = [b"XYZ \0\0\0\0".as_slice(), &D50].concat();
    let tags = [(b"A2B0", &lut), (b"wtpt", &white)];
    let mut profile = vec![0; 128];
    profile[8] = 2;
    profile[12..24].copy_from_slice(b"prtrCMYKLab ");
    profile[36..40].copy_from_slice(b"acsp");
    profile[68..80].copy_from_slice(&D50);
    profile.extend_from_slice(&(tags.len() as u32).to_be_bytes());
    let mut at = profile.len() + tags.len() * 12;
    for (name, body) in tags {
        profile.extend_from_slice(name);
        profile.extend_from_slice(&(at as u32).to_be_bytes());
        profile.extend_from_slice(&(body.len() as u32).to_be_bytes());
        at += body.len();
    }
    for (_, body) in tags {
        profile.extend_from_slice(body);
    }
    let size = profile.len() as u32;
    profile[..4].copy_from_slice(&size.to_be_bytes());
    profile
}

/// The illuminant of ICC profiles, as three numbers with 16 fraction bits.
const D50: [u8; 12] = [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D];

#[test]
fn a_cmyk_profile_decides_what_an_ink_looks_like() {
    let pixels: Vec<u8> = (0..64 * 64)
        .flat_map(|at| match at % 64 / 16 {
            0 => [255, 0, 0, 0],
            1 => [0, 0, 0, 255],
            2 => [0, 255, 0, 0],
            _ => [0, 0, 0, 0],
        })
        .collect();
    for color in [ColorType::Cmyk, ColorType::CmykAsYcck] {
        let mut data = Vec::new();
        let mut encoder = Encoder::new(&mut data, 98);
        encoder.add_icc_profile(&cmyk_profile()).unwrap();
        encoder.encode(&pixels, 64, 64, color).unwrap();
        let opened = open(&fit(&data.into(), &types(&["image/png"])).unwrap().data);
        // L* of 60, 0, 40 and 100 in sRGB.
        for (x, gray) in [(8, 145), (24, 0), (40, 94), (56, 255)] {
            near(opened.at(x, 32), [gray; 3], 8);
        }
    }
}

#[test]
fn every_png_bit_depth_and_colour_type_is_decoded() {
    use png::{BitDepth as Depth, ColorType as Color};
    let table: [(Color, Depth, Vec<u8>, [u8; 3]); 9] = [
        (
            Color::Rgb,
            Depth::Sixteen,
            [200, 7, 100, 7, 50, 7].repeat(256),
            [200, 100, 50],
        ),
        (
            Color::Rgba,
            Depth::Sixteen,
            [200, 0, 100, 0, 50, 0, 255, 255].repeat(256),
            [200, 100, 50],
        ),
        (Color::Grayscale, Depth::One, vec![0xFF; 32], [255; 3]),
        (Color::Grayscale, Depth::Two, vec![0x55; 64], [85; 3]),
        (
            Color::Grayscale,
            Depth::Sixteen,
            [130, 9].repeat(256),
            [130; 3],
        ),
        (Color::Indexed, Depth::One, vec![0xFF; 32], [1, 254, 0]),
        (Color::Indexed, Depth::Four, vec![0x99; 128], [9, 246, 4]),
        (Color::Indexed, Depth::Eight, vec![80; 256], [80, 175, 40]),
        (
            Color::GrayscaleAlpha,
            Depth::Eight,
            [90, 255].repeat(256),
            [90; 3],
        ),
    ];
    for (color, depth, data, wanted) in table {
        let original = png_of(16, 16, color, depth, &data);
        let fitted = fit(&original, &px(8)).unwrap();
        near(open(&fitted.data).at(4, 4), wanted, 1);
    }
}

#[test]
fn a_trns_colour_without_an_alpha_channel_is_transparent() {
    let mut data = Vec::new();
    let mut encoder = png::Encoder::new(&mut data, 8, 8);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_trns(vec![0, 10, 0, 20, 0, 30]);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&[10, 20, 30].repeat(64)).unwrap();
    writer.finish().unwrap();
    let fitted = fit(&data.into(), &types(&["image/jpeg"])).unwrap();
    near(open(&fitted.data).at(4, 4), [255; 3], 2);
}

#[test]
fn transparency_is_flattened_onto_white_for_jpeg_and_kept_for_png() {
    let half = |x: u32, _: u32| {
        if x < 32 {
            [0, 0, 0, 0]
        } else {
            [10, 90, 200, 255]
        }
    };
    let data = rgba_png(64, 64, half);
    let flat = fit(&data, &types(&["image/jpeg"])).unwrap();
    near(open(&flat.data).at(5, 30), [255; 3], 3);
    assert!(flat.conversion.unwrap().flattened);

    let see_through = webp::file(webp::LOSSY_ALPHA);
    let kept = fit(&see_through, &types(&["image/jpeg", "image/png"])).unwrap();
    assert_eq!(kept.media_type, "image/png");
    assert_eq!(measure(&kept.data).unwrap().channels, 4);
}

#[test]
fn an_unused_alpha_channel_does_not_force_png() {
    let opaque = rgba_png(64, 64, |x, y| {
        let [r, g, b] = noise(x, y);
        [r, g, b, 255]
    });
    let limits = types(&["image/png", "image/jpeg"]).with_max_bytes(Some(8_000));
    let fitted = fit(&opaque, &limits).unwrap();
    assert_eq!(fitted.media_type, "image/jpeg");
    assert!(!fitted.conversion.unwrap().flattened);
}

#[test]
fn metadata_is_stripped_when_an_image_is_re_encoded() {
    let secret = b"GPS 52.5200 N 13.4050 E";
    let photo = jpeg_with(64, 48, smooth, |e| {
        e.add_exif_metadata(&exif(1, secret)).unwrap()
    });
    let fitted = fit(&photo, &px(32)).unwrap();
    assert!(!fitted.data.windows(secret.len()).any(|w| w == secret));
    let untouched = fit(&photo, &ImageLimits::default()).unwrap();
    assert_eq!(
        untouched.data.as_ptr(),
        photo.as_ptr(),
        "what is passed on is passed on whole"
    );
}

#[test]
fn downscaling_does_not_reveal_a_hidden_image() {
    // Every fourth pixel in each direction belongs to a hidden picture, which
    // nearest-neighbour sampling to a quarter would reveal.
    let hidden = |x: u32, y: u32| {
        if (x / 32 + y / 32).is_multiple_of(2) {
            255
        } else {
            0
        }
    };
    let attack = |x: u32, y: u32| {
        if x % 4 == 2 && y % 4 == 2 {
            [hidden(x, y); 3]
        } else {
            [128; 3]
        }
    };
    for size in [256, 200, 128] {
        let data = png_of(1024, 1024, png::ColorType::Rgb, png::BitDepth::Eight, &{
            let rows = (0..1024).flat_map(|y| (0..1024).map(move |x| (x, y)));
            rows.flat_map(|(x, y)| attack(x, y)).collect::<Vec<u8>>()
        });
        for limits in [px(size), types(&["image/jpeg"]).with_max_px(Some(size))] {
            let opened = open(&fit(&data, &limits).unwrap().data);
            let scale = 1024 / size;
            let mut squares = 0.0;
            for y in 0..size {
                for x in 0..size {
                    let difference =
                        f64::from(opened.at(x, y)[0]) - f64::from(hidden(x * scale, y * scale));
                    squares += difference * difference;
                }
            }
            let noise = squares / f64::from(size * size);
            let psnr = 10.0 * (255.0 * 255.0 / noise).log10();
            assert!(psnr < 15.0, "{size}: {psnr}");
        }
    }
}

#[test]
fn errors_name_no_file_no_address_and_no_library() {
    let mut texts = Vec::new();
    for data in [
        png(30, 30, noise),
        jpeg(30, 30, noise),
        gif(30, 30, &[[1, 2, 3]]),
        webp::file(webp::LOSSY),
    ] {
        for cut in [30, data.len() / 2, data.len() - 3] {
            if let Err(problem) = fit(&data.slice(..cut), &px(16)) {
                texts.push(problem.to_string());
            }
        }
        texts.push(fit(&data, &max_bytes(3)).unwrap_err().to_string());
    }
    assert!(texts.len() > 8);
    for text in texts {
        for word in [
            "zune",
            "png::",
            ".rs",
            "0x",
            "/",
            "image-webp",
            "panick",
            "Decod",
        ] {
            assert!(!text.contains(word), "{text}");
        }
    }
}

#[test]
fn a_screenshot_becomes_png_rather_than_jpeg_if_both_are_accepted() {
    let screenshot = webp::lossless(400, 300, screen);
    let both = types(&["image/jpeg", "image/png"]);
    assert_eq!(fit(&screenshot, &both).unwrap().media_type, "image/png");
    let photo = webp::lossless(100, 100, noise);
    assert_eq!(fit(&photo, &both).unwrap().media_type, "image/jpeg");
}

#[test]
fn a_screenshot_over_its_budget_is_compressed_harder_before_it_becomes_jpeg() {
    let loose = png(1200, 900, screen);
    let limits = max_bytes(loose.len() as u64 - 1);
    let fitted = fit(&loose, &limits).unwrap();
    assert_eq!(fitted.media_type, Format::Png.media_type());
    let made = fitted.conversion.unwrap();
    assert_eq!((made.width, made.height), (1200, 900));
}

#[test]
fn ordinary_jpegs_decode_as_with_another_decoder() {
    use jpeg_encoder::SamplingFactor as Sampling;
    for (width, height) in [(64, 48), (61, 45), (17, 9), (1, 1), (8, 200)] {
        for sampling in [
            Sampling::R_4_4_4,
            Sampling::R_4_2_2,
            Sampling::R_4_4_0,
            Sampling::R_4_2_0,
        ] {
            for restart in [0, 1, 3] {
                let data = jpeg_with(width, height, smooth, |e| {
                    e.set_sampling_factor(sampling);
                    if restart > 0 {
                        e.set_restart_interval(restart);
                    }
                });
                let ours = fit(&data, &types(&["image/png"])).unwrap();
                let distance = open(&ours.data).distance(&open(&data).rgb);
                assert!(distance < 1.5, "{width}×{height} {sampling:?}: {distance}");
            }
        }
    }
}

#[test]
fn gray_jpegs_stay_gray() {
    let mut data = Vec::new();
    let pixels: Vec<u8> = (0..100 * 60).map(|at| (at % 100 * 2) as u8).collect();
    Encoder::new(&mut data, 95)
        .encode(&pixels, 100, 60, ColorType::Luma)
        .unwrap();
    let fitted = fit(&data.into(), &px(50)).unwrap();
    assert_eq!(measure(&fitted.data).unwrap().channels, 1);
    near(open(&fitted.data).at(25, 15), [101; 3], 3);
}

#[test]
fn a_jpeg_decoded_at_a_reduced_dct_scale_looks_like_one_scaled_from_all_pixels() {
    // Detail in luma only: chroma is subsampled in every JPEG.
    let draw = |x: u32, y: u32| {
        let shade = if (x / 50 + y / 40).is_multiple_of(2) {
            3
        } else {
            1
        };
        [smooth(x, y)[0] / 4 * shade; 3]
    };
    for size in [500, 255, 130, 60] {
        let photo = jpeg_with(1000, 750, draw, |e| e.set_quality(97));
        let plain = png(1000, 750, draw);
        let limits = types(&["image/png"]).with_max_px(Some(size));
        let (ours, exact) = (fit(&photo, &limits).unwrap(), fit(&plain, &limits).unwrap());
        let distance = open(&ours.data).distance(&open(&exact.data).rgb);
        assert!(distance < 4.0, "{size}: {distance}");
    }
}

#[test]
fn bytes_between_the_segments_of_a_jpeg_are_skipped() {
    let draw = |_: u32, _: u32| [200, 80, 60];
    let photo = jpeg(64, 48, draw);
    // After SOI and APP0.
    let stray = Bytes::from([&photo[..20], &[0, 0, 7], &photo[20..]].concat());
    let untouched = fit(&stray, &ImageLimits::default()).unwrap();
    assert_eq!(untouched.data.as_ptr(), stray.as_ptr());
    let fitted = fit(&stray, &px(32)).unwrap();
    near(open(&fitted.data).at(16, 12), [200, 80, 60], 4);
}

#[test]
fn a_first_frame_beyond_the_screen_enlarges_it() {
    let mut data = gif(30, 20, &[[200, 80, 60]]).to_vec();
    data[6..10].copy_from_slice(&[10, 0, 12, 0]);
    let fitted = fit(&data.into(), &types(&["image/png"])).unwrap();
    let opened = open(&fitted.data);
    assert_eq!((opened.width, opened.height), (30, 20));
    near(opened.at(29, 19), [200, 80, 60], 0);
}

#[test]
fn gray_pictures_stored_as_rgb_become_gray_files() {
    let gray = png(300, 200, |x, y| [((x * 3) ^ (y * 5)) as u8; 3]);
    let fitted = fit(&gray, &px(150)).unwrap();
    assert_eq!(measure(&fitted.data).unwrap().channels, 1);
}
