//! Accuracy and errors of the scaler.

use fearless_simd::Level;
use majordomo_codecs::scale::{Channels, PixelView, Scaler};
use majordomo_codecs::{CodecError, Job, Stop};

fn job() -> Job {
    Job::new(Stop::new(), u64::MAX)
}

fn gray(width: u32, height: u32, data: &[u8]) -> PixelView<'_> {
    PixelView {
        width,
        height,
        channels: Channels::One,
        data,
    }
}

#[test]
fn strips_join_without_a_seam() {
    // A linear gradient, scaled in several strips, stays linear.
    let (height, to) = (3000, 600);
    let data: Vec<u8> = (0..height).map(|y| (y / 12) as u8).collect();
    let mut out = vec![0; to as usize];
    Scaler::default()
        .scale(gray(1, height, &data), (1, to), &mut out, &job())
        .unwrap();
    for (y, value) in out.iter().enumerate() {
        let exact = (y as f64 + 0.5) * 5.0 / 12.0;
        assert!((f64::from(*value) - exact).abs() < 1.5, "row {y}: {value}");
    }
}

#[test]
fn a_stop_and_bad_sizes_are_errors() {
    let data = [0; 100];
    let scaler = Scaler::default();
    let mut out = [0; 25];
    let square = gray(10, 10, &data);
    let stopped = job();
    stopped.stop.stop();
    let stopped = scaler.scale(square, (5, 5), &mut out, &stopped);
    assert_eq!(stopped, Err(CodecError::Stopped));
    let short = gray(10, 11, &data);
    let bad = scaler.scale(short, (5, 5), &mut out, &job());
    assert_eq!(bad, Err(CodecError::Failed));
    let no_room = scaler.scale(square, (5, 5), &mut out[1..], &job());
    assert_eq!(no_room, Err(CodecError::Failed));
}

#[test]
fn transparent_pixels_do_not_bleed_their_colour() {
    // Left half opaque white, right half transparent black.
    let row: Vec<u8> = (0..8)
        .flat_map(|x| if x < 4 { [255; 4] } else { [0; 4] })
        .collect();
    let data = row.repeat(8);
    let source = PixelView {
        width: 8,
        height: 8,
        channels: Channels::WithAlpha,
        data: &data,
    };
    let mut out = [0; 36];
    Scaler::default()
        .scale(source, (3, 3), &mut out, &job())
        .unwrap();
    let seen = out.as_chunks::<4>().0.iter().filter(|pixel| pixel[3] > 8);
    for pixel in seen {
        assert!(pixel[0] > 240, "{pixel:?}");
    }
}

#[test]
fn three_channels_scale_like_each_channel_alone() {
    let (width, height) = (90, 900);
    let value = |x: u32, y: u32, c: u32| (x * 7 + y * 3 + c * 50) as u8;
    let each = |c| -> Vec<u8> {
        let rows = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        rows.map(|(x, y)| value(x, y, c)).collect()
    };
    let planes = [each(0), each(1), each(2)];
    let packed: Vec<u8> = (0..planes[0].len())
        .flat_map(|at| [planes[0][at], planes[1][at], planes[2][at]])
        .collect();
    let scaler = Scaler::default();
    let mut together = vec![0; 41 * 390 * 3];
    let source = PixelView {
        width,
        height,
        channels: Channels::Three,
        data: &packed,
    };
    scaler
        .scale(source, (41, 390), &mut together, &job())
        .unwrap();
    for (c, plane) in planes.iter().enumerate() {
        let mut alone = vec![0; 41 * 390];
        let source = gray(width, height, plane);
        scaler.scale(source, (41, 390), &mut alone, &job()).unwrap();
        for (at, value) in alone.iter().enumerate() {
            assert!(
                together[at * 3 + c].abs_diff(*value) <= 1,
                "channel {c} at {at}"
            );
        }
    }
}

/// Pseudo-random bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 9_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Layouts of independent samples, and their bytes per pixel.
const KINDS: [(Channels, usize); 3] = [
    (Channels::One, 1),
    (Channels::Three, 3),
    (Channels::Four, 4),
];
/// Sizes with every remainder, one dimension alone, small and large ratios, and a row too
/// long for the streaming code.
const SCALES: [((u32, u32), (u32, u32)); 9] = [
    ((200, 170), (83, 71)),
    ((131, 90), (130, 89)),
    ((64, 256), (64, 100)),
    ((257, 40), (31, 40)),
    ((1, 999), (1, 17)),
    ((3000, 3), (50, 1)),
    ((17, 16), (1, 1)),
    ((700, 300), (2, 3)),
    ((70_000, 3), (1_000, 2)),
];

/// The defining sum of the filter, over all pixels.
fn exact(source: PixelView<'_>, to: (u32, u32), (x, y): (u32, u32), channel: usize) -> f64 {
    let pixel = source.data.len() / (source.width * source.height) as usize;
    let lanczos = |t: f64| {
        let sinc = |t: f64| if t == 0.0 { 1.0 } else { t.sin() / t };
        let t = t * std::f64::consts::PI;
        if t.abs() < 3.0 * std::f64::consts::PI {
            sinc(t) * sinc(t / 3.0)
        } else {
            0.0
        }
    };
    let weights = |from: u32, to: u32, at: u32| -> Vec<f64> {
        let step = f64::from(from) / f64::from(to);
        let middle = (f64::from(at) + 0.5) * step;
        let near = (0..from).map(|i| lanczos((f64::from(i) + 0.5 - middle) / step));
        let near: Vec<f64> = match from == to {
            true => (0..from).map(|i| f64::from(u8::from(i == at))).collect(),
            false => near.collect(),
        };
        let sum: f64 = near.iter().sum();
        near.iter().map(|weight| weight / sum).collect()
    };
    let across = weights(source.width, to.0, x);
    let down = weights(source.height, to.1, y);
    let rows = source.data.chunks_exact(source.width as usize * pixel);
    let row = |row: &[u8]| -> f64 {
        let values = row.iter().skip(channel).step_by(pixel);
        let sum = values.zip(&across).map(|(value, w)| f64::from(*value) * w);
        sum.sum()
    };
    rows.zip(&down).map(|(pixels, w)| row(pixels) * w).sum()
}

#[test]
fn every_pixel_matches_the_definition_of_the_filter() {
    for (from, to) in SCALES {
        for (channels, pixel) in KINDS {
            let data = noise((from.0 * from.1) as usize * pixel);
            let source = PixelView {
                width: from.0,
                height: from.1,
                channels,
                data: &data,
            };
            let mut out = vec![0; (to.0 * to.1) as usize * pixel];
            Scaler::default()
                .scale(source, to, &mut out, &job())
                .unwrap();
            for (x, y) in [(0, 0), (to.0 - 1, to.1 - 1), (to.0 / 2, to.1 / 3)] {
                for channel in 0..pixel {
                    let found = out[(y * to.0 + x) as usize * pixel + channel];
                    // Rounded to bytes between both passes.
                    let wanted = exact(source, to, (x, y), channel).clamp(0.0, 255.0);
                    let apart = (f64::from(found) - wanted).abs();
                    assert!(
                        apart < 2.5,
                        "{from:?} {to:?} {channels:?} {x},{y}: {found} {wanted}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_constant_picture_stays_constant() {
    for value in [0, 1, 128, 254, 255] {
        for (from, to) in SCALES {
            let data = vec![value; (from.0 * from.1) as usize];
            let mut out = vec![7; (to.0 * to.1) as usize];
            Scaler::default()
                .scale(gray(from.0, from.1, &data), to, &mut out, &job())
                .unwrap();
            assert!(out.iter().all(|found| *found == value), "{value} {from:?}");
        }
    }
}

/// Every SIMD level of this machine, the lowest first.
fn levels() -> Vec<Level> {
    let best = Level::new();
    #[cfg(target_arch = "x86_64")]
    let less = [
        best.as_sse2().map(Level::Sse2),
        best.as_sse4_2().map(Level::Sse4_2),
        best.as_avx2().map(Level::Avx2),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let less: [Option<Level>; 0] = [];
    less.into_iter().flatten().chain([best]).collect()
}

#[test]
fn every_simd_level_gives_the_same_pixels() {
    for (from, to) in SCALES {
        for (channels, pixel) in KINDS {
            let data = noise((from.0 * from.1) as usize * pixel);
            let source = PixelView {
                width: from.0,
                height: from.1,
                channels,
                data: &data,
            };
            let at = |level| {
                let mut out = vec![0; (to.0 * to.1) as usize * pixel];
                Scaler::with_level(level)
                    .scale(source, to, &mut out, &job())
                    .unwrap();
                out
            };
            let [least, others @ ..] = &levels().into_iter().map(at).collect::<Vec<_>>()[..] else {
                continue;
            };
            assert!(others.iter().all(|other| other == least), "{from:?} {to:?}");
        }
    }
}
