//! Subsampled chroma belongs to the right pixels, at every size, orientation and output.
//!
//! The oracle interpolates chroma by plain arithmetic, as libjpeg's "fancy upsampling" does.

use majordomo_codecs::{
    Chroma, ChromaSize, Encoding, Job, Layout, Picture, SizeHint, Stop, decode, downscale_decoded,
    encode,
};
use majordomo_image_header::{Orientation, measure};
use proptest::prelude::*;

fn job() -> Job {
    Job::new(Stop::new(), u64::MAX)
}

/// A planar picture of noise.
fn planar(width: u32, height: u32, across: u32, down: u32) -> Picture {
    let chroma = ChromaSize {
        width: width.div_ceil(across),
        height: height.div_ceil(down),
    };
    let samples = width * height + 2 * chroma.width * chroma.height;
    let value = |at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8;
    Picture {
        width,
        height,
        layout: Layout::YCbCr(chroma),
        data: (0..samples).map(value).collect::<Vec<u8>>().into(),
    }
}

/// The pixel at a position, by definition (JFIF 1.02).
fn pixel(picture: &Picture, (x, y): (u32, u32), (across, down): (u32, u32)) -> [u8; 3] {
    let Layout::YCbCr(chroma) = picture.layout else {
        panic!("the picture is planar");
    };
    let luma = f64::from(picture.data[(y * picture.width + x) as usize]);
    let first = picture.width * picture.height;
    // The centre of the pixel, in chroma samples from the centre of the first.
    let place = |at: u32, factor: u32, count: u32| {
        let place = (f64::from(at) + 0.5) / f64::from(factor) - 0.5;
        place.clamp(0.0, f64::from(count - 1))
    };
    let (u, v) = (
        place(x, across, chroma.width),
        place(y, down, chroma.height),
    );
    // Samples are rounded before their colours are converted.
    let color = |plane: u32| {
        let sample = |column: f64, row: f64| {
            let column = column.min(f64::from(chroma.width - 1)) as u32;
            let row = row.min(f64::from(chroma.height - 1)) as u32;
            let start = first + plane * chroma.width * chroma.height;
            f64::from(picture.data[(start + row * chroma.width + column) as usize])
        };
        let mix = |a: f64, b: f64, share: f64| a * (1.0 - share) + b * share;
        let line = |row: f64| {
            mix(
                sample(u.floor(), row),
                sample(u.floor() + 1.0, row),
                u.fract(),
            )
        };
        mix(line(v.floor()), line(v.floor() + 1.0), v.fract()).round() - 128.0
    };
    let (cb, cr) = (color(0), color(1));
    let values = [
        luma + 1.402 * cr,
        luma - 0.344_136 * cb - 0.714_136 * cr,
        luma + 1.772 * cb,
    ];
    values.map(|value| value.round().clamp(0.0, 255.0) as u8)
}

fn check(found: [u8; 3], wanted: [u8; 3], allowed: u8, what: &str) {
    let apart = found.iter().zip(wanted).map(|(a, b)| a.abs_diff(b)).max();
    assert!(apart <= Some(allowed), "{what}: {found:?}, not {wanted:?}");
}

proptest! {
    #[test]
    fn every_size_and_subsampling_keeps_its_colours_in_lossless_files(
        width in 1_u32..40,
        height in 1_u32..40,
        across in 1_u32..=2,
        down in 1_u32..=2,
    ) {
        let picture = planar(width, height, across, down);
        for encoding in [Encoding::Png, Encoding::Webp] {
            let file = encode(&picture, encoding, None, &job()).unwrap().unwrap();
            let header = measure(&file).unwrap();
            let whole = SizeHint::AtLeast((width, height));
            let back = decode(&file, &header, whole, Chroma::Full, &job()).unwrap();
            let channels = back.data.len() / (width * height) as usize;
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let wanted = pixel(&picture, (x, y), (across, down));
                let at = (y * width + x) as usize * channels;
                let found = match channels {
                    1 => [back.data[at]; 3],
                    _ => [back.data[at], back.data[at + 1], back.data[at + 2]],
                };
                check(found, wanted, 1, &format!("{encoding:?} {width}×{height} at {x},{y}"));
            }
        }
    }

    /// The last chroma sample of an odd result lies on the edge of the source, where half of
    /// its weights are missing.
    #[test]
    fn a_picture_of_one_colour_keeps_it_at_every_size(
        (width, height) in (1_u32..300, 1_u32..300),
        (across, down) in (1_u32..=2, 1_u32..=2),
        scale in prop::sample::select(vec![1, 2, 4, 8]),
        (short_x, short_y) in (0_u32..8, 0_u32..8),
        (to_x, to_y) in (0.0..1.0_f64, 0.0..1.0_f64),
        is_full in any::<bool>(),
    ) {
        let mut picture = planar(width, height, across, down);
        let luma = (width * height) as usize;
        let color = (picture.data.len() - luma) / 2;
        picture.data[..luma].fill(50);
        picture.data[luma..luma + color].fill(90);
        picture.data[luma + color..].fill(200);
        // Of a file that was decoded at this scale.
        let stored = (
            width * scale - short_x.min(scale - 1),
            height * scale - short_y.min(scale - 1),
        );
        let part = |length: u32, part: f64| (f64::from(length) * part) as u32 + 1;
        let to = (part(width, to_x), part(height, to_y));
        let chroma = if is_full { Chroma::Full } else { Chroma::Half };
        let small = downscale_decoded(&picture, stored, to, chroma, &job()).unwrap();
        let luma = (to.0 * to.1) as usize;
        let color = (small.data.len() - luma) / 2;
        prop_assert!(small.data[..luma].iter().all(|value| *value == 50));
        prop_assert!(small.data[luma..luma + color].iter().all(|value| *value == 90));
        prop_assert!(small.data[luma + color..].iter().all(|value| *value == 200));
    }

    #[test]
    fn every_orientation_moves_whole_pixels(
        width in 1_u32..24,
        height in 1_u32..24,
        across in 1_u32..=2,
        down in 1_u32..=2,
        exif in 1_u16..=8,
    ) {
        let picture = planar(width, height, across, down);
        let orientation = Orientation::from_exif(exif);
        let turned = picture.oriented(orientation, &job()).unwrap();
        let rgb = turned.to_interleaved(&job()).unwrap().unwrap();
        for y in 0..turned.height {
            for x in 0..turned.width {
                let mirror = |at, length, mirrored| if mirrored { length - 1 - at } else { at };
                let (x0, y0) = (
                    mirror(x, turned.width, orientation.mirror_x),
                    mirror(y, turned.height, orientation.mirror_y),
                );
                let stored = if orientation.transpose { (y0, x0) } else { (x0, y0) };
                let at = (y * turned.width + x) as usize * 3;
                let found = [rgb.data[at], rgb.data[at + 1], rgb.data[at + 2]];
                let wanted = pixel(&picture, stored, (across, down));
                // An axis that is interpolated while it is mirrored is rounded once more.
                check(found, wanted, 3, &format!("{width}×{height} {exif} at {x},{y}"));
            }
        }
    }
}
