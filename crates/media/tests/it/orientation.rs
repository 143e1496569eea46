//! Images arrive upright, whatever their EXIF orientation.

use jpeg_encoder::{ColorType, Encoder};
use majordomo_llm::ImageLimits;
use majordomo_media::{Orientation, measure};

use crate::mediagen::*;

/// Four corners of different colours: no two orientations look alike.
fn corners(x: u32, y: u32) -> [u8; 3] {
    match (x < 48, y < 32) {
        (true, true) => [230, 20, 20],
        (false, true) => [20, 230, 20],
        (true, false) => [20, 20, 230],
        (false, false) => [240, 240, 240],
    }
}

/// The pixels as stored with this orientation.
fn stored(orientation: u16) -> (u32, u32, Vec<u8>) {
    let how = Orientation::from_exif(orientation);
    let (width, height) = how.upright(96, 64);
    let pixel = |column: u32, row: u32| {
        let (x, y) = if how.transpose {
            (row, column)
        } else {
            (column, row)
        };
        let x = if how.mirror_x { 95 - x } else { x };
        let y = if how.mirror_y { 63 - y } else { y };
        corners(x, y)
    };
    let rows = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    (width, height, rows.flat_map(|(x, y)| pixel(x, y)).collect())
}

fn is_upright(data: &[u8], size: (u32, u32)) {
    let opened = open(data);
    assert_eq!((opened.width, opened.height), size);
    let (w, h) = size;
    for (x, y) in [
        (w / 4, h / 4),
        (w * 3 / 4, h / 4),
        (w / 4, h * 3 / 4),
        (w * 3 / 4, h * 3 / 4),
    ] {
        near(opened.at(x, y), corners(x * 96 / w, y * 64 / h), 25);
    }
    assert!(measure(data).unwrap().orientation.is_upright());
}

#[test]
fn every_exif_orientation_is_rotated_upright_in_every_format() {
    for orientation in 1..=8 {
        let (width, height, pixels) = stored(orientation);
        let exif = exif(orientation as u8, &[]);
        let mut photo = Vec::new();
        let mut encoder = Encoder::new(&mut photo, 92);
        encoder.add_exif_metadata(&exif).unwrap();
        encoder
            .encode(&pixels, width as u16, height as u16, ColorType::Rgb)
            .unwrap();
        let plain = png_of(
            width,
            height,
            png::ColorType::Rgb,
            png::BitDepth::Eight,
            &pixels,
        );
        let tagged = forge::insert_chunks(&plain, &[(b"eXIf", exif.clone())]);
        let mut inner = Vec::new();
        image_webp::WebPEncoder::new(&mut inner)
            .encode(&pixels, width, height, image_webp::ColorType::Rgb8)
            .unwrap();
        let inner = webp::chunks(&inner)[0].1.clone();
        let web = webp::riff(&[
            (b"VP8X", webp::vp8x(0x08, width, height)),
            (b"VP8L", inner),
            (b"EXIF", exif),
        ]);
        for data in [photo.into(), tagged, web] {
            let limits = types(&["image/jpeg", "image/png"]);
            let whole = fit(&data, &limits).unwrap();
            is_upright_or_upright_already(&whole.data, orientation);
            let half = fit(&data, &limits.with_max_px(Some(48))).unwrap();
            is_upright(&half.data, (48, 32));
        }
    }
}

fn is_upright_or_upright_already(data: &[u8], orientation: u16) {
    if orientation == 1 {
        assert!(measure(data).unwrap().orientation.is_upright());
    } else {
        is_upright(data, (96, 64));
    }
}

#[test]
fn huge_invalid_or_cyclic_exif_is_harmless() {
    let turned = |exif: &[u8]| {
        let photo = jpeg_with(24, 16, smooth, |e| e.add_exif_metadata(exif).unwrap());
        measure(&photo).unwrap().upright() == (16, 24)
    };
    let huge = exif(6, &vec![7; 64_000]);
    assert!(turned(&huge));
    assert!(!turned(&exif(9, &[])), "there is no ninth orientation");
    // The next directory is the directory itself.
    let mut circle = b"MM\0*\0\0\0\x08\0\x01\x01\x0F\0\x02\0\0\0\x04\0\0\0\0".to_vec();
    circle.extend_from_slice(&8_u32.to_be_bytes());
    assert!(!turned(&circle));
}

#[test]
fn a_rotated_photo_passes_unchanged_when_the_target_honours_exif() {
    let turned = jpeg_with(40, 30, smooth, |e| {
        e.add_exif_metadata(&exif(6, &[])).unwrap()
    });
    let honest = ImageLimits::default().with_honours_orientation(true);
    assert_eq!(
        fit(&turned, &honest).unwrap().data.as_ptr(),
        turned.as_ptr()
    );
    let bogus = jpeg_with(40, 30, smooth, |e| {
        e.add_exif_metadata(&exif(9, &[])).unwrap()
    });
    let passed = fit(&bogus, &ImageLimits::default()).unwrap();
    assert_eq!(passed.data.as_ptr(), bogus.as_ptr());
}
