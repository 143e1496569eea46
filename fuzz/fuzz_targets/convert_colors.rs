//! Any bytes as the colour profile of a picture in any layout, and of a CMYK file: colours are
//! converted, or the profile is ignored.
#![no_main]

use majordomo_codecs::{
    Chroma, ChromaSize, Job, Layout, Picture, SizeHint, Stop, decode, to_srgb,
};
use majordomo_image_header::measure;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((selector, profile)) = data.split_first() else {
        return;
    };
    let job = Job::new(Stop::new(), 64 << 20);
    let (layout, bytes) = match selector % 6 {
        0 => (Layout::Gray, 64),
        1 => (Layout::Rgb, 192),
        2 => (Layout::Rgbx, 256),
        3 => (Layout::Rgba, 256),
        4 => {
            let (width, height) = (4, 4);
            (Layout::YCbCr(ChromaSize { width, height }), 96)
        }
        _ => return decode_inks(profile, &job),
    };
    let picture = Picture {
        width: 8,
        height: 8,
        layout,
        data: (0..bytes).map(|at| (at * 7) as u8).collect::<Vec<u8>>().into(),
    };
    let converted = to_srgb(&picture, profile, &job).expect("memory suffices");
    if let Some(converted) = converted {
        assert_eq!((converted.width, converted.height), (8, 8));
    }
});

/// A JPEG of one gray block in each of four components.
fn decode_inks(profile: &[u8], job: &Job) {
    let mut file = vec![0xFF, 0xD8];
    let mut segment = |marker: u8, body: &[u8]| {
        let length = u16::try_from(body.len() + 2).expect("is short");
        file.extend([0xFF, marker]);
        file.extend(length.to_be_bytes());
        file.extend(body);
    };
    let parts = profile.chunks(65_000);
    let count = parts.len() as u8;
    for (number, part) in (1..).zip(parts) {
        segment(0xE2, &[b"ICC_PROFILE\0", &[number, count][..], part].concat());
    }
    segment(0xDB, &[[0].as_slice(), &[1; 64]].concat());
    segment(0xC0, &[8, 0, 8, 0, 8, 4, 1, 17, 0, 2, 17, 0, 3, 17, 0, 4, 17, 0]);
    for table in [0x00, 0x10] {
        let lengths = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        segment(0xC4, &[[table].as_slice(), &lengths, &[0]].concat());
    }
    segment(0xDA, &[4, 1, 0, 2, 0, 3, 0, 4, 0, 0, 63, 0]);
    file.extend([0x00, 0xFF, 0xD9]);
    let header = measure(&file).expect("is a JPEG");
    let picture = decode(&file, &header, SizeHint::AtLeast((8, 8)), Chroma::Full, job);
    let picture = picture.expect("is decoded, whatever its profile");
    assert_eq!(picture.layout, Layout::Rgb);
}
