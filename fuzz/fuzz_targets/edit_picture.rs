//! Any pixels in any layout: turned, downscaled, and written in every format. Files can be read,
//! lossless ones return the same pixels, and none exceeds its budget.
#![no_main]

use majordomo_codecs::{
    Chroma, ChromaSize, Encoding, Job, Layout, Picture, SizeHint, Stop, decode, downscale_decoded,
    encode,
};
use majordomo_image_header::{Orientation, measure};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((settings, pixels)) = data.split_first_chunk::<12>() else {
        return;
    };
    let [layout, turn, encoding, budget, chroma, stretch, ..] = *settings;
    let side = |at: usize| u32::from(u16::from_le_bytes([settings[at], settings[at + 1]])) % 200 + 1;
    let (mut width, mut height) = (side(6), side(8));
    match stretch % 8 {
        0 => (width, height) = (width * 300, height % 3 + 1),
        1 => (width, height) = (width % 3 + 1, height * 300),
        _ => {}
    }
    let job = Job::new(Stop::new(), 64 << 20);
    let mut picture = picture(layout, (width, height), pixels);
    let turn = Orientation::from_exif(u16::from(turn % 9));
    if !turn.is_upright() {
        picture = picture.oriented(turn, &job).expect("turns");
    }
    // Of a file that was decoded at a fraction of its size.
    let scale = [1, 1, 2, 4, 8][usize::from(stretch >> 3) % 5];
    let stored = |length: u32| length * scale - u32::from(stretch >> 6).min(scale - 1);
    let reduced = |length: u32, part: u8| (length * (u32::from(part) + 1)).div_ceil(256);
    let to = (
        reduced(picture.width, settings[10]),
        reduced(picture.height, settings[11]),
    );
    let kind = [Chroma::Half, Chroma::Full][usize::from(chroma % 2)];
    let of = (stored(picture.width), stored(picture.height));
    let picture = downscale_decoded(&picture, of, to, kind, &job).expect("is downscaled");
    assert_eq!((picture.width, picture.height), to);
    let encoding = match encoding % 8 {
        0 => Encoding::Png,
        1 => Encoding::SmallPng,
        2 | 3 => Encoding::Webp,
        4 | 5 => Encoding::Gif,
        quality => Encoding::Jpeg(quality * 12),
    };
    let budget = (budget % 4 == 0).then_some(u64::from(budget) * 64);
    let file = encode(&picture, encoding, budget, &job).expect("is written");
    let Some(file) = file else {
        assert!(budget.is_some() || to.0.max(to.1) > 16_383);
        return;
    };
    assert!(budget.is_none_or(|most| file.len() as u64 <= most));
    let header = measure(&file).expect("encoded files parse");
    assert_eq!((header.width, header.height), to);
    let whole = SizeHint::AtLeast(to);
    let back = decode(&file, &header, whole, Chroma::Full, &job).expect("encoded files are read");
    if matches!(encoding, Encoding::Png | Encoding::SmallPng | Encoding::Webp) {
        assert!(colors(&back, &job) == colors(&picture, &job), "pixels changed");
    }
});

/// A picture that repeats these bytes.
fn picture(layout: u8, (width, height): (u32, u32), pixels: &[u8]) -> Picture {
    let sampled = |length: u32, bit: u8| length.div_ceil(1 << (layout >> bit & 1));
    let chroma = ChromaSize {
        width: sampled(width, 3),
        height: sampled(height, 4),
    };
    let area = width as usize * height as usize;
    let (layout, length) = match layout % 8 {
        0 => (Layout::Gray, area),
        1 => (Layout::Rgb, area * 3),
        2 => (Layout::Rgbx, area * 4),
        3 | 4 => (Layout::Rgba, area * 4),
        _ => (
            Layout::YCbCr(chroma),
            area + 2 * chroma.width as usize * chroma.height as usize,
        ),
    };
    let repeated = pixels.iter().chain([&77]).copied().cycle();
    Picture {
        width,
        height,
        layout,
        data: repeated.take(length).collect::<Vec<u8>>().into(),
    }
}

/// Red, green, blue and alpha of every pixel.
fn colors(picture: &Picture, job: &Job) -> Vec<[u8; 4]> {
    let converted = picture.to_interleaved(job).expect("is converted");
    let picture = converted.as_ref().unwrap_or(picture);
    let data = &picture.data[..];
    match picture.layout {
        Layout::Gray => data.iter().map(|value| [*value, *value, *value, 255]).collect(),
        Layout::Rgba => data.as_chunks::<4>().0.to_vec(),
        Layout::Rgbx => data.chunks(4).map(|p| [p[0], p[1], p[2], 255]).collect(),
        Layout::Rgb | Layout::YCbCr(_) => {
            data.chunks(3).map(|p| [p[0], p[1], p[2], 255]).collect()
        }
    }
}
