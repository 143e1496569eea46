//! Decoding stays within its memory limit, measured in a child process per image; 32 MiB
//! are allowed for the process and the result. Refused files must not
//! take any memory.
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
        (Some("open"), Some(file)) => open_here(&file),
        (Some("open-many"), _) => open_many_here(),
        // Resident memory is read from `/proc`.
        _ if cfg!(target_os = "linux") => {
            for (name, data, allowed) in cases() {
                let grown = open_in_a_child(name, &data);
                println!("{name}: {} of {} MiB", grown / MIB, allowed / MIB);
                assert!(grown <= allowed, "{name}: {grown} bytes of {allowed}");
            }
            two_hundred_concurrent_images_stay_within_the_shared_memory_limit();
        }
        _ => println!("skipped: memory is only measured on Linux"),
    }
}

/// Images near the limits, and decompression bombs, with the memory they may take.
fn cases() -> Vec<(&'static str, Bytes, u64)> {
    let opened = |name, data: Bytes| {
        let allowed = working_set(&data) + 32 * MIB;
        (name, data, allowed)
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
        opened("png", png(4000, 3000, screen)),
        opened("png of 16 bits", forge::blank_png(5000, 5000, 16, 6)),
        opened("png with alpha", forge::blank_png(6000, 6000, 8, 6)),
        opened("jpeg", jpeg_with(4000, 3000, smooth, fine)),
        opened(
            "progressive jpeg",
            jpeg_with(4000, 3000, smooth, progressive),
        ),
        opened("turned jpeg", jpeg_with(4000, 3000, smooth, turned)),
        opened("gif", gif(4000, 4000, &[[9, 8, 7], [1, 2, 3]])),
        opened("webp", webp::lossless(3000, 3000, smooth)),
        (
            "png of 60,000²",
            forge::blank_png(60_000, 60_000, 1, 0),
            MIB,
        ),
        (
            "png with a bomb for a profile",
            forge::png_with(&[(b"iCCP", profile)]),
            4 * MIB,
        ),
    ]
}

/// The smallest limit under which the image is decoded.
fn working_set(data: &[u8]) -> u64 {
    let header = measure(data).unwrap();
    let (mut refused, mut taken) = (0, Bounds::default().max_decoded);
    while taken - refused > 1 {
        let bounds = Bounds {
            max_decoded: (refused + taken) / 2,
            ..Bounds::default()
        };
        match bounds.check(&header) {
            Ok(()) => taken = bounds.max_decoded,
            Err(_) => refused = bounds.max_decoded,
        }
    }
    taken
}

fn open_in_a_child(name: &str, data: &[u8]) -> u64 {
    let file = std::env::temp_dir().join(format!("majordomo-memory-{}", std::process::id()));
    std::fs::write(&file, data).unwrap();
    let path = file.to_string_lossy();
    let grown = grown_in_a_child(name, &["open", &path]);
    std::fs::remove_file(&file).unwrap();
    grown
}

fn grown_in_a_child(name: &str, arguments: &[&str]) -> u64 {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(arguments)
        // Measures what is held, not what the C library caches.
        .env("MALLOC_MMAP_THRESHOLD_", "131072")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned();
    let grown = text.lines().find_map(|line| line.strip_prefix("grown "));
    grown
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or_else(|| panic!("{name}: {child:?}"))
}

/// In the child: decodes the image in the ways that take most memory.
fn open_here(file: &str) {
    // Page in the code first: it counts as resident memory.
    open(&png(8, 8, screen));
    let data = Bytes::from(std::fs::read(file).unwrap());
    let before = resident("VmRSS");
    open(&data);
    println!("grown {}", resident("VmHWM").saturating_sub(before));
}

fn open(data: &Bytes) {
    for limits in [
        types(&["image/jpeg"]),
        ImageLimits {
            max_px: Some(1500),
            ..types(&["image/png"])
        },
    ] {
        let terms = Terms::of(&limits, 1);
        let _ = fit_image(data, "", &terms, &Bounds::default(), &Stop::new());
    }
}

/// The shared limit.
const TOGETHER: u64 = 128 * MIB;
const MANY: usize = 200;

/// Without the limit these would take 1.8 GB.
fn two_hundred_concurrent_images_stay_within_the_shared_memory_limit() {
    let allowed = TOGETHER + 32 * MIB;
    let grown = grown_in_a_child("many at once", &["open-many", ""]);
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
