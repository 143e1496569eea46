//! Fitting stays within its memory limit, measured in a child process per image; 32 MiB
//! are allowed for the process and the result. Refused files must not take any memory.
//!
//! A separate binary with its own `main`, which starts itself as the child.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

#[path = "it/mediagen/mod.rs"]
mod mediagen;

use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use jpeg_encoder::SamplingFactor;
use majordomo_llm::ImageLimits;
use majordomo_media::{Bounds, Fitter, Stop, Terms, fit_image, measure};

use mediagen::*;

const MIB: u64 = 1 << 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("open"), Some(file)) => open_here(&file, open),
        (Some("open-extreme"), Some(file)) => open_here(&file, open_in_every_way),
        (Some("open-many"), _) => open_many_here(),
        // Resident memory is read from `/proc`.
        _ if cfg!(target_os = "linux") => {
            for (how, cases) in [("open", cases()), ("open-extreme", extremes())] {
                for (name, data, allowed) in cases {
                    let child = open_in_a_child(how, &name, &data);
                    let (grown, refused) = (child.grown, child.refused);
                    println!(
                        "{name}: {} of {} MiB {refused:?}",
                        grown / MIB,
                        allowed / MIB
                    );
                    assert!(grown <= allowed, "{name}: {grown} bytes of {allowed}");
                }
            }
            two_hundred_concurrent_images_stay_within_the_shared_memory_limit();
        }
        _ => println!("skipped: memory is only measured on Linux"),
    }
}

/// Images near the limits, and decompression bombs, with the memory they may take.
fn cases() -> Vec<(String, Bytes, u64)> {
    let opened = |name: &str, per_pixel: u64, data: Bytes| {
        let allowed = measure(&data).unwrap().pixels() * per_pixel + 32 * MIB;
        (name.to_owned(), data, allowed)
    };
    let fine = |e: &mut jpeg_encoder::Encoder<&mut Vec<u8>>| {
        e.set_sampling_factor(SamplingFactor::R_4_4_4);
    };
    let progressive = |e: &mut jpeg_encoder::Encoder<&mut Vec<u8>>| {
        fine(e);
        e.set_progressive(true);
    };
    let turned = |e: &mut jpeg_encoder::Encoder<&mut Vec<u8>>| {
        e.add_exif_metadata(&exif(6, &[])).unwrap();
    };
    let mut profile = b"x\0\0".to_vec();
    profile.extend_from_slice(&forge::zeros(64 << 20));
    vec![
        opened("png", 4, png(4000, 3000, screen)),
        opened("png of 16 bits", 8, forge::blank_png(5000, 5000, 16, 6)),
        opened("png with alpha", 4, forge::blank_png(6000, 6000, 8, 6)),
        opened("jpeg", 3, jpeg_with(4000, 3000, smooth, fine)),
        opened(
            "progressive jpeg",
            9,
            jpeg_with(4000, 3000, smooth, progressive),
        ),
        opened("turned jpeg", 3, jpeg_with(4000, 3000, smooth, turned)),
        opened("gif", 5, gif(4000, 4000, &[[9, 8, 7], [1, 2, 3]])),
        opened("webp", 4, webp::lossless(3000, 3000, smooth)),
        (
            "png of 60,000²".to_owned(),
            forge::blank_png(60_000, 60_000, 1, 0),
            MIB,
        ),
        (
            "png with a bomb for a profile".to_owned(),
            forge::png_with(&[(b"iCCP", profile)]),
            4 * MIB,
        ),
    ]
}

/// Extreme aspect ratios, prime sizes, depths, alpha and animations near the limit on pixels.
/// Each file has only kilobytes, and the bound must hold in every case.
fn extremes() -> Vec<(String, Bytes, u64)> {
    let allowed = Bounds::default().max_decoded + 32 * MIB;
    let mut extremes = Vec::new();
    for (width, height) in [
        (50_000_000, 1),
        (1, 49_999_991),
        (10_000_000, 5),
        (7_069, 7_069),
    ] {
        for (kind, depth, color) in [
            ("gray", 8, 0),
            ("rgb", 8, 2),
            ("palette", 1, 3),
            ("rgba", 8, 6),
            ("16-bit rgba", 16, 6),
        ] {
            let name = format!("{kind} png of {width}×{height}");
            extremes.push((name, forge::blank_png(width, height, depth, color), allowed));
        }
    }
    for (width, height) in [(16_383, 3_000), (1, 16_383), (7_069, 7_069)] {
        let name = format!("lossless webp of {width}×{height}");
        extremes.push((name, webp::blank_lossless(width, height), allowed));
        let name = format!("animated webp of {width}×{height}");
        extremes.push((name, webp::blank_animation(width, height), allowed));
        let name = format!("lossy webp with alpha of {width}×{height}");
        extremes.push((name, webp::blank_lossy_alpha(width, height), allowed));
    }
    for (width, height) in [(65_535, 761), (761, 65_535), (1, 65_535), (7_069, 7_069)] {
        let name = format!("gif of {width}×{height}");
        extremes.push((name, gif(width, height, &[[9, 8, 7], [1, 2, 3]]), allowed));
        for progressive in [false, true] {
            let name = format!("jpeg of {width}×{height}, progressive: {progressive}");
            let data = jpeg_with(width.into(), height.into(), smooth, |e| {
                e.set_progressive(progressive);
                e.add_exif_metadata(&exif(6, &[])).unwrap();
            });
            extremes.push((name, data, allowed));
        }
    }
    extremes
}

/// A child's report.
struct Child {
    /// Bytes by which its memory grew.
    grown: u64,
    /// Why images were refused.
    refused: Vec<String>,
}

fn open_in_a_child(how: &str, name: &str, data: &[u8]) -> Child {
    let file = std::env::temp_dir().join(format!("majordomo-memory-{}", std::process::id()));
    std::fs::write(&file, data).unwrap();
    let path = file.to_string_lossy();
    let child = run_a_child(name, &[how, &path]);
    std::fs::remove_file(&file).unwrap();
    child
}

fn run_a_child(name: &str, arguments: &[&str]) -> Child {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(arguments)
        // Measures memory in use, not memory that the C library caches.
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned();
    let grown = text.lines().find_map(|line| line.strip_prefix("grown "));
    let refused = text
        .lines()
        .filter_map(|line| line.strip_prefix("refused "));
    Child {
        grown: grown
            .and_then(|bytes| bytes.parse().ok())
            .unwrap_or_else(|| panic!("{name}: {child:?}")),
        refused: refused.map(str::to_owned).collect(),
    }
}

/// In the child: decodes the image in the ways that take most memory.
fn open_here(file: &str, open: fn(&Bytes)) {
    // Page in the code first: it counts as resident memory.
    open(&png(8, 8, screen));
    let data = Bytes::from(std::fs::read(file).unwrap());
    let before = resident("VmRSS");
    open(&data);
    println!("grown {}", resident("VmHWM").saturating_sub(before));
}

fn open(data: &Bytes) {
    fit_to(data, &types(&["image/jpeg"]));
    fit_to(data, &at_most(1500, types(&["image/png"])));
}

fn open_in_every_way(data: &Bytes) {
    fit_to(data, &types(&["image/png"]));
    fit_to(data, &at_most(512, types(&["image/jpeg", "image/png"])));
    fit_to(data, &max_bytes(1_000));
}

fn at_most(max_px: u32, limits: ImageLimits) -> ImageLimits {
    limits.with_max_px(Some(max_px))
}

fn fit_to(data: &Bytes, limits: &ImageLimits) {
    let terms = Terms::of(limits, 1);
    if let Err(problem) = fit_image(data, "", &terms, &Bounds::default(), &Stop::new()) {
        println!("refused {problem}");
    }
}

/// The shared limit.
const TOGETHER: u64 = 128 * MIB;
const MANY: usize = 200;

/// Without the limit these would take 1.8 GB.
fn two_hundred_concurrent_images_stay_within_the_shared_memory_limit() {
    let allowed = TOGETHER + 32 * MIB;
    let grown = run_a_child("many at once", &["open-many", ""]).grown;
    println!("{MANY} at once: {} of {} MiB", grown / MIB, allowed / MIB);
    assert!(grown <= allowed, "{grown} bytes of {allowed}");
}

/// In the child: fits many different images at once, with more threads than memory.
fn open_many_here() {
    let image = forge::blank_png(1500, 1500, 8, 6);
    // A distinct tail makes a distinct image.
    let another = |number: usize| Bytes::from([&image[..], &number.to_le_bytes()].concat());
    let request = request(&(0..MANY).map(another).collect::<Vec<_>>());
    let before = resident("VmRSS");
    let fitter = Fitter::new(Bounds {
        workers: 64,
        max_decoding: TOGETHER,
        max_wait: Duration::from_secs(600),
        max_time: Duration::from_secs(600),
        kept_open: 0,
        ..Bounds::default()
    });
    let (fitted, changes) = block_on(fitter.fit(&request, Some(&px(100)))).unwrap();
    assert_eq!((fitted.prompt().image_count(), changes.len()), (MANY, 1));
    println!("grown {}", resident("VmHWM").saturating_sub(before));
}

fn resident(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}
