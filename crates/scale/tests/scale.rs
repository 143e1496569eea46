//! What scaling promises.

use majordomo_scale::{Channels, Failure, Pixels, Scaler};

fn gray(width: u32, height: u32, data: &[u8]) -> Pixels<'_> {
    Pixels {
        width,
        height,
        channels: Channels::One,
        data,
    }
}

#[test]
fn strips_join_without_a_seam() {
    // A straight slope, scaled in several strips, is a straight slope.
    let (height, to) = (3000, 600);
    let data: Vec<u8> = (0..height).map(|y| (y / 12) as u8).collect();
    let mut out = Vec::new();
    Scaler::default()
        .scale(gray(1, height, &data), (1, to), &mut out, &|| true)
        .unwrap();
    for (y, value) in out.iter().enumerate() {
        let exact = (y as f64 + 0.5) * 5.0 / 12.0;
        assert!((f64::from(*value) - exact).abs() < 1.5, "row {y}: {value}");
    }
}

#[test]
fn a_stopped_scaling_says_so_and_bad_sizes_are_refused() {
    let data = [0; 100];
    let mut scaler = Scaler::default();
    let mut out = Vec::new();
    let square = gray(10, 10, &data);
    let stopped = scaler.scale(square, (5, 5), &mut out, &|| false);
    assert_eq!(stopped, Err(Failure::Stopped));
    let short = gray(10, 11, &data);
    let bad = scaler.scale(short, (5, 5), &mut out, &|| true);
    assert_eq!(bad, Err(Failure::BadSize));
}

#[test]
fn transparent_pixels_do_not_bleed_their_colour() {
    // Left half opaque white, right half transparent black.
    let row: Vec<u8> = (0..8)
        .flat_map(|x| if x < 4 { [255; 4] } else { [0; 4] })
        .collect();
    let data = row.repeat(8);
    let source = Pixels {
        width: 8,
        height: 8,
        channels: Channels::WithAlpha,
        data: &data,
    };
    let mut out = Vec::new();
    Scaler::default()
        .scale(source, (3, 3), &mut out, &|| true)
        .unwrap();
    let seen = out.as_chunks::<4>().0.iter().filter(|pixel| pixel[3] > 8);
    for pixel in seen {
        assert!(pixel[0] > 240, "{pixel:?}");
    }
}

#[test]
fn three_channels_are_scaled_like_each_of_them_alone() {
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
    let mut scaler = Scaler::default();
    let mut together = Vec::new();
    let source = Pixels {
        width,
        height,
        channels: Channels::Three,
        data: &packed,
    };
    scaler
        .scale(source, (41, 390), &mut together, &|| true)
        .unwrap();
    for (c, plane) in planes.iter().enumerate() {
        let mut alone = Vec::new();
        let source = gray(width, height, plane);
        scaler
            .scale(source, (41, 390), &mut alone, &|| true)
            .unwrap();
        for (at, value) in alone.iter().enumerate() {
            assert!(
                together[at * 3 + c].abs_diff(*value) <= 1,
                "channel {c} at {at}"
            );
        }
    }
}
